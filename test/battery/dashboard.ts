import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readArguments, toPositive } from '../../build/tool-arguments.ts'
import { toTable } from '../../src/server/terminal.ts'
import { runInBackground, waitUntil, whyMissing } from '../cluster/programs.ts'
import { findFreePort } from '../free-port.ts'
import { startPostgres, whyNoPostgres } from '../postgres.ts'
import { startScrapedNode } from './dashboard-node.ts'
import { drawPanels } from './dashboard-picture.ts'
import { type Answer, askPrometheus, type Panel, toExpression } from './dashboard-query.ts'

const HELP = `npm run battery:dashboard -- [options]

A real node under a small load, scraped by a real Prometheus with the configuration and rules of deploy/prometheus. Asks every
panel of the dashboard for Grafana and every rule, and fails if one has no data.

  --seconds N     how long the load lasts (default 90); some metrics are read once a minute
  --picture FILE  draw the panels with Chromium`

const { values } = readArguments(HELP, {
  seconds: { type: 'string', default: '90' },
  picture: { type: 'string' },
})
toPositive('--seconds', values.seconds)

/** It compares with the day before. */
const NEEDS_A_DAY = /offset 1d/
const say = (line: string) => console.log(`${new Date().toISOString().slice(11, 19)}  ${line}`)
const missing = whyMissing('prometheus') ?? whyNoPostgres()
if (missing === undefined) await check()
else say(`The battery of the dashboard is skipped: ${missing}`)
process.exit()

async function check(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'tabbat-dashboard-'))
  const postgres = await startPostgres()
  const node = await startScrapedNode(await postgres.createDatabase(), folder)
  const port = await findFreePort()
  const prometheus = runInBackground('prometheus', [
    `--config.file=${writeConfig(folder, node.metricsPort)}`,
    `--storage.tsdb.path=${join(folder, 'tsdb')}`,
    `--web.listen-address=127.0.0.1:${port}`,
  ])
  const url = `http://127.0.0.1:${port}`
  try {
    await waitUntil('Prometheus', async () => (await fetch(`${url}/-/ready`)).ok)
    say(`load for ${values.seconds} seconds`)
    await node.load(Number(values.seconds) * 1000)
    await report(url)
  } finally {
    await prometheus.stop()
    await node.stop()
    await postgres.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The shipped configuration, with the addresses of this run and a second between scrapes. */
function writeConfig(folder: string, metricsPort: number): string {
  writeFileSync(join(folder, 'rules.yml'), readFileSync('deploy/prometheus/rules.yml'))
  const file = join(folder, 'prometheus.yml')
  const config = readFileSync('deploy/prometheus/prometheus.yml', 'utf8')
    .replaceAll('/etc/prometheus/', `${folder}/`)
    .replaceAll('_interval: 15s', '_interval: 1s')
    .replace(/targets: \[.*?\]/, `targets: ['127.0.0.1:${metricsPort}']`)
  writeFileSync(file, config)
  return file
}

async function report(url: string): Promise<void> {
  const { panels } = JSON.parse(readFileSync('deploy/grafana/tabbat.json', 'utf8')) as { panels: Panel[] }
  const answers: Answer[] = []
  for (const panel of panels)
    for (const { expr } of panel.targets ?? [])
      answers.push({
        panel,
        expr,
        series: await askPrometheus(url, toExpression(expr), Number(values.seconds)),
      })
  const rows = answers.map(({ panel, expr, series }) => [panel.title, String(series.length), toNote(expr)])
  console.log(toTable([['panel', 'series', ''], ...rows]))
  const empty = answers.filter(({ expr, series }) => series.length === 0 && toNote(expr) === '')
  const rules = await readRules(url)
  console.log(toTable([['rule', 'health', 'state or series'], ...rules]))
  const failed = rules.filter(([, health, state]) => health !== 'ok' || state === '0')
  if (values.picture !== undefined) say(await drawPanels(panels, answers, values.picture))
  for (const { panel, expr } of empty) say(`no data: ${panel.title}: ${expr}`)
  for (const [name, health] of failed) say(`rule without a result: ${name} (${health})`)
  say(empty.length + failed.length === 0 ? 'every panel and every rule has data' : 'NOT as wanted')
  if (empty.length + failed.length > 0) process.exitCode = 1
}

function toNote(expr: string): string {
  return NEEDS_A_DAY.test(expr) ? 'needs data of the day before' : ''
}

type Rule = { readonly name: string; readonly type: string; readonly health: string; readonly state?: string }

/** Name, health, and the state of an alert or the number of series of a recording rule. */
async function readRules(url: string): Promise<string[][]> {
  const body = (await (await fetch(`${url}/api/v1/rules`)).json()) as {
    data: { groups: { rules: Rule[] }[] }
  }
  const rules = body.data.groups.flatMap((group) => group.rules)
  return Promise.all(
    rules.map(async ({ name, type, health, state = '' }) => {
      const count = async () => String((await askPrometheus(url, name, Number(values.seconds))).length)
      return [name, health, type === 'recording' ? await count() : state]
    }),
  )
}
