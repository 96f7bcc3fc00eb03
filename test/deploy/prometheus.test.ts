import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, globSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { whyMissing } from '../cluster/programs.ts'

const missing = whyMissing('promtool')
const FOLDER = 'deploy/prometheus'
const RULES = readFileSync(join(FOLDER, 'rules.yml'), 'utf8')
const TESTS = globSync(join(FOLDER, '*.test.yml'))

type Panel = {
  readonly id: number
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number }
  readonly targets?: readonly { readonly expr: string }[]
}
const PANELS = (JSON.parse(readFileSync('deploy/grafana/tabbat.json', 'utf8')) as { panels: Panel[] }).panels

it('the panels of the dashboard have their own ids and places', () => {
  const cells = PANELS.flatMap(({ gridPos: { x, y, w, h } }) =>
    Array.from({ length: w * h }, (_, at) => `${x + (at % w)},${y + Math.floor(at / w)}`),
  )
  expect(new Set(PANELS.map(({ id }) => id)).size).toBe(PANELS.length)
  expect(new Set(cells).size).toBe(cells.length)
})

describe('the rules of Prometheus', () => {
  const alerts = [...RULES.matchAll(/- alert: (\w+)\n((?: {8}.*\n)+)/g)]

  it('each have a test in which they fire, a severity, a summary and an action', () => {
    const tested = TESTS.map((file) => readFileSync(file, 'utf8')).join('')
    expect(alerts.length).toBeGreaterThan(15)
    const lacking = alerts.filter(
      ([, name, body = '']) =>
        !tested.includes(`alertname="${name}"`) ||
        !/severity: (page|ticket)/.test(body) ||
        !body.includes('summary:') ||
        !body.includes('action:'),
    )
    expect(lacking.map(([, name]) => name)).toEqual([])
  })

  it('each have a page of the runbook, its address and a line in its index', () => {
    const pages = globSync('docs/alerts/*.md')
      .map((file) => basename(file, '.md'))
      .filter((name) => name !== 'README')
    expect(pages.toSorted()).toEqual(alerts.map(([, name = '']) => name).toSorted())
    const index = readFileSync('docs/alerts/README.md', 'utf8')
    for (const [, name = '', body = ''] of alerts) {
      const [, severity = ''] = /severity: (\w+)/.exec(body) ?? []
      expect(body).toContain(`runbook_url: '/guide/alerts-${name.toLowerCase()}.html'`)
      expect(index).toContain(`| [${name}](${name}.md) | ${severity} |`)
      const page = readFileSync(`docs/alerts/${name}.md`, 'utf8')
      expect(page).toContain(`**Severity** \`${severity}\``)
      expect([...page.matchAll(/^## (.+)$/gm)].map(([, heading]) => heading)).toEqual([
        'What callers see',
        'First look',
        'What to do',
        'When it is over',
        'How to prevent it',
      ])
    }
  })

  if (missing !== undefined) return void it.skip(`are not tested: ${missing}`)

  it.each(TESTS)('pass %s', (file) => {
    const { status, stdout, stderr } = spawnSync('promtool', ['test', 'rules', file], { encoding: 'utf8' })
    expect(status, stdout + stderr).toBe(0)
  })

  it('and the dashboard have expressions that Prometheus can parse', () => {
    const expressions = PANELS.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))
    expect(expressions.length).toBeGreaterThan(25)
    const rules = expressions.map((expr, at) => ({
      record: `panel:${at}`,
      expr: expr.replaceAll('$__rate_interval', '1m').replaceAll('$instance', '.+'),
    }))
    const file = join(mkdtempSync(join(tmpdir(), 'tabbat-panels-')), 'rules.yml')
    writeFileSync(file, JSON.stringify({ groups: [{ name: 'panels', rules }] }))
    const { status, stdout, stderr } = spawnSync('promtool', ['check', 'rules', file], { encoding: 'utf8' })
    expect(status, stdout + stderr).toBe(0)
  })

  it('are loaded by the example of a configuration', () => {
    const folder = mkdtempSync(join(tmpdir(), 'tabbat-prometheus-'))
    cpSync(FOLDER, folder, { recursive: true })
    writeFileSync(join(folder, 'tabbat-token'), 'token')
    const file = join(folder, 'prometheus.yml')
    writeFileSync(file, readFileSync(file, 'utf8').replaceAll('/etc/prometheus', folder))
    expect(execFileSync('promtool', ['check', 'config', file], { encoding: 'utf8' })).toContain(
      '1 rule files',
    )
  })
})

it('the example of a configuration scrapes the nodes of the production page, in the way that they listen', () => {
  const example = readFileSync(join(FOLDER, 'prometheus.yml'), 'utf8')
  const page = readFileSync('docs/production.md', 'utf8')
  const [, nodes = ''] = /^# on (.*)\nIP=.*\ninstall .*tabbat-linux/m.exec(page) ?? []
  const [, settings = ''] = /^cat > \/etc\/tabbat\/tabbat\.env <<END\n((?:.*\n)*?)END$/m.exec(page) ?? []
  const [, port] = /^TABBAT_METRICS_PORT=(\d+)$/m.exec(settings) ?? []
  const targets = nodes.match(/[\d.]+\d/g)?.map((address) => `'${address}:${port}'`)
  expect(example).toContain(`targets: [${targets?.join(', ')}]`)
  expect(settings).toContain('TABBAT_METRICS_HOST=$IP\n')
  expect(settings).toContain('TABBAT_METRICS_TOKEN=')
  expect(settings).not.toContain('TABBAT_TLS_CERT')
  expect(example).toMatch(/^ {4}scheme: http\n/m)
})
