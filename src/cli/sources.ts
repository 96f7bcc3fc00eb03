import { Argument, type Command } from 'commander'
import { say, sayJson, toTable } from '../app/terminal.ts'
import { loadConfig } from '../config/config.ts'
import { checkVendor, readSourceReports, requireVendor } from '../context/source-control.ts'
import type { SourceReport } from '../sources/status-report.ts'
import { disableSource, enableSource } from '../sources/switch.ts'
import { VENDOR_NAMES, type VendorName } from '../sources/vendors.ts'
import { withCommandContext, withStore } from './command-context.ts'

export function addSourcesCommand(program: Command): void {
  const sources = program
    .command('sources')
    .description('see how the vendors are doing, try one, switch one off')
    .addHelpText(
      'after',
      `
Examples:
  tabbat sources status              state, error rate, times and spend of every source
  tabbat sources check dojah         one call to the vendor, and what is wrong in plain words
  tabbat sources disable dojah       nobody asks it any more, on any node, within 5 seconds`,
    )

  sources
    .command('status')
    .description('state, error rate, times and spend of every source, as each running server sees it')
    .option('--json', 'print a list for a program; calls and spend of today are of the source as a whole')
    .action(({ json }: { json?: true }) =>
      withStore(async ({ store, config }) => showStatus(await readSourceReports(store, config), json)),
    )

  sources
    .command('check')
    .description('ask a vendor once, for a number that it made for trying (the call may be billed)')
    .addArgument(new Argument('<name>', 'the vendor').choices(VENDOR_NAMES))
    .option('--json', 'print an object for a program')
    .action(runCheck)

  sources
    .command('disable')
    .description('switch a source off, on all nodes, until it is enabled')
    .addArgument(new Argument('<name>', 'the source').choices(VENDOR_NAMES))
    .action((name: string) => runSwitch(name, 'disable'))

  sources
    .command('enable')
    .description('let a source be asked again')
    .addArgument(new Argument('<name>', 'the source').choices(VENDOR_NAMES))
    .action((name: string) => runSwitch(name, 'enable'))
}

function showStatus(reports: readonly SourceReport[], json: true | undefined): void {
  if (json) say(JSON.stringify(reports))
  else if (reports.length === 0)
    say('No vendor is in use. Name some in TABBAT_NIN_SOURCES and TABBAT_BVN_SOURCES: see docs/sources.md')
  else {
    say(`${toStatusTable(reports)}\n`)
    say(toSpendTable(reports))
  }
}

const toStatusTable = (reports: readonly SourceReport[]) =>
  toTable([
    [
      'source',
      'operation',
      'node',
      'state',
      'calls',
      'errors, 5 min',
      'p50/p95/p99 ms',
      'last success or sync',
    ],
    ...reports.map((report) => [
      report.source,
      report.operation,
      report.node?.slice(0, 8) ?? '-',
      toState(report),
      String(report.figures?.calls ?? '-'),
      report.figures?.recentCalls ? `${Math.round(report.figures.errorRate * 100)} %` : '-',
      toTimes(report),
      report.figures?.lastSuccessAt ?? report.lastSync?.at ?? '-',
    ]),
  ])

/** Calls and spend are counted for a vendor as a whole, over all operations and nodes: one line each. */
const toSpendTable = (reports: readonly SourceReport[]) =>
  toTable([
    ['source', 'today'],
    ...Map.groupBy(reports, ({ source }) => source)
      .values()
      .map(([report]) => (report ? [report.source, toSpend(report)] : [])),
  ])

/** Lists are fetched now and then, so what counts is how that ended the last time. */
function toState({ disabled, figures, lastSync }: SourceReport): string {
  if (disabled) return 'disabled'
  if (lastSync !== undefined) return lastSync?.outcome ?? 'not asked yet'
  return [figures?.state ?? 'not running', ...(figures?.warnings ?? [])].join(', ')
}

const toTimes = ({ figures }: SourceReport) =>
  figures?.p50 == null ? '-' : `${figures.p50}/${figures.p95}/${figures.p99}`

const toNaira = (kobo: number) => `₦${(kobo / 100).toFixed(2)}`

const toSpend = ({ callsToday, spentKoboToday, capKobo }: SourceReport) =>
  `${callsToday} calls, ${toNaira(spentKoboToday)}${capKobo === null ? '' : ` of ${toNaira(capKobo)}`}`

async function runCheck(name: VendorName, { json }: { json?: true }): Promise<void> {
  // Before there is a database, where there is none yet.
  requireVendor(loadConfig(), name)
  const { result, database } = await withCommandContext(async (office) => ({
    result: await checkVendor({ ...office, node: office.audit.owner }, name),
    database: office.database,
  }))
  if (json) sayJson({ database }, result)
  else {
    say(`${name} was asked for ${result.asked}: ${result.result}, after ${result.ms} ms.`)
    say(result.explanation)
  }
  if (!result.ok) process.exitCode = 1
}

async function runSwitch(name: string, to: 'disable' | 'enable'): Promise<void> {
  await withCommandContext(async ({ store, audit }) => {
    const desk = { table: store.sources, audit }
    const changed = await (to === 'disable' ? disableSource(desk, name) : enableSource(desk, name))
    if (to === 'disable')
      say(changed ? `${name} is switched off; servers obey within 5 seconds.` : `${name} was off already.`)
    else say(changed ? `${name} may be asked again, within 5 seconds.` : `${name} was on already.`)
  })
}
