import { readArguments, refuse, toChoice, toWhole } from '../../build/tool-arguments.ts'
import { whyNoPatroni } from '../cluster/patroni.ts'
import { waitUntil } from '../cluster/programs.ts'
import { startTraffic } from '../cluster/traffic.ts'
import { type ScenarioReport, toReportTable, toScenarioReport } from './cluster-report.ts'
import { SCENARIOS, type Scenario } from './cluster-scenarios.ts'
import { type Cluster, startCluster } from './cluster-setup.ts'
import { createLedger } from './ledger.ts'
import { createCallers } from './load.ts'
import { findAuditFaults, readAudit } from './place.ts'

const HELP = `npm run battery:cluster -- [options]

Kills, restarts and stalls parts of a cluster under load: three nodes, HAProxy, Patroni with etcd and a synchronous standby.

  --only PARTS   scenarios whose name contains one of these, separated by commas (all)
  --repeat N     each of them so many times (1)
  --hosts one    one address of the database, that of HAProxy (several: the addresses of both servers)
  --json         print the figures as JSON

Scenarios:
${SCENARIOS.map(({ name }) => `  ${name}`).join('\n')}`

const { values } = readArguments(HELP, {
  only: { type: 'string', default: '' },
  repeat: { type: 'string', default: '1' },
  hosts: { type: 'string', default: 'several' },
  json: { type: 'boolean', default: false },
})
const times = toWhole('--repeat', values.repeat)
const hosts = toChoice('--hosts', values.hosts, ['one', 'several'])
const parts = values.only.split(',')
const chosen = SCENARIOS.filter(({ name }) => parts.some((part) => name.includes(part)))
if (chosen.length === 0) refuse(`No scenario has a name with "${values.only}".`)

const CALLERS = 12
/** Between two requests of a caller, so that nodes, databases and callers fit on two cores. */
const PAUSE_MS = 10
const SOME = 200
/** Ids of a scenario's verifications begin at a multiple of this. */
const IDS = 1_000_000
const LAST_WAIT_MS = 60_000

const say = (line: string) =>
  void process.stderr.write(`${new Date().toISOString().slice(11, 19)}  ${line}\n`)

// What was started ends with this process.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1))
await main()
process.exit()

async function main(): Promise<void> {
  const missing = whyNoPatroni()
  if (missing !== undefined) say(`The battery of the cluster is skipped: ${missing}`)
  else await runAll()
}

async function runAll(): Promise<void> {
  const cluster = await startCluster(hosts)
  const reports: ScenarioReport[] = []
  try {
    for (const scenario of chosen.flatMap((each) => Array(times).fill(each) as Scenario[])) {
      const report = await play(cluster, scenario, (reports.length + 1) * IDS)
      say(`${scenario.name}: ${report.faults.join('; ') || 'as wanted'}`)
      reports.push(report)
    }
    const faults = await stopAndVerify(cluster)
    for (const fault of faults) say(fault)
    console.log(values.json ? JSON.stringify({ hosts, reports, faults }) : toReportTable(reports))
    if (faults.length > 0 || reports.some((report) => report.faults.length > 0)) process.exitCode = 1
  } finally {
    await cluster.stop()
  }
}

async function play(cluster: Cluster, scenario: Scenario, firstId: number): Promise<ScenarioReport> {
  const { proxy, place, nodes } = cluster
  const untilAllUp = () =>
    waitUntil('all nodes are up', async () => (await proxy.countUp()) === nodes.length, LAST_WAIT_MS)
  const ledger = createLedger(firstId)
  await untilAllUp()
  const traffic = startTraffic(proxy, place, ledger, { ways: CALLERS, pauseMs: PAUSE_MS })
  await traffic.untilAnswered(SOME)
  const struckAt = performance.now()
  const repair = await scenario.strike(cluster)
  await traffic.untilAnswered(SOME)
  await repair()
  await untilAllUp()
  await traffic.untilAnswered(SOME)
  await traffic.stop()
  const callers = createCallers(ledger, place, proxy.ca)
  await callers.askUntilAnswered(proxy.url, LAST_WAIT_MS)
  callers.close()
  const rows = await readAudit({ settings: nodes[0]?.settings ?? {} })
  return toScenarioReport(scenario, traffic, struckAt, ledger.findFaults(rows))
}

/** Stopped nodes have written their last checkpoints, with which the log is verified. */
async function stopAndVerify({ nodes }: Cluster): Promise<string[]> {
  const codes = await Promise.all(nodes.map(({ stop }) => stop()))
  const found = await Promise.all(nodes.map(({ settings }) => findAuditFaults({ settings })))
  return [...codes.filter((code) => code !== 0).map((code) => `a node ended with ${code}`), ...found.flat()]
}
