import type { Command } from 'commander'
import { type NodeReport, readNodeReports } from '../context/nodes.ts'
import { say, toTable } from '../server/terminal.ts'
import { withStore } from './command-context.ts'
import { addHelp, EXIT_CODES } from './help.ts'

export function addNodesCommand(program: Command): void {
  const command = program
    .command('nodes')
    .description('show the servers of this database: version, uptime, load')
    .option('--json', 'print a JSON array')
    .action(({ json }: { json?: true }) =>
      withStore(async ({ store }) => showNodes(await readNodeReports(store.nodes), json)),
    )
  addHelp(command, {
    details:
      'One line for each process. Lag is the age of what it has learnt from the database: catalogue and kill switches. A process that ended without saying so is shown as dead for an hour.',
    usesDatabase: true,
    exitCodes: EXIT_CODES,
    examples: { nodes: 'a table', 'nodes --json': 'a JSON array' },
  })
}

function showNodes(reports: readonly NodeReport[], json: true | undefined): void {
  if (json) say(JSON.stringify(reports))
  else if (reports.length === 0) say('No server runs on this database.')
  else say(toTable([TITLES, ...reports.map(toCells)]))
}

const TITLES = ['node', 'worker', 'process', 'version', 'state', 'uptime', 'in flight', 'requests/s', 'lag']

const toCells = (report: NodeReport) => [
  report.node,
  String(report.worker),
  report.process,
  report.version,
  report.alive ? 'alive' : `dead since ${report.seen_at}`,
  toUptime(report.uptime_s),
  String(report.in_flight),
  String(report.requests_per_s),
  `${report.lag_ms} ms`,
]

function toUptime(seconds: number): string {
  if (seconds < 120) return `${seconds} s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 120) return `${minutes} min`
  const hours = Math.floor(minutes / 60)
  return hours < 48 ? `${hours} h` : `${Math.floor(hours / 24)} d`
}
