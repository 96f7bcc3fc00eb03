import { Argument, type Command } from 'commander'
import { readShippedFolder } from '../catalogue/catalogue.ts'
import { type Config, loadConfig } from '../config.ts'
import { Refusal } from '../errors.ts'
import { toPrices } from '../source-line.ts'
import { STATE_LIFE_MS, toLagosDay } from '../sources/agreement.ts'
import { checkSource } from '../sources/check.ts'
import { openVendor } from '../sources/index.ts'
import { type SourceReport, toReports } from '../sources/status-report.ts'
import { disableSource, enableSource } from '../sources/switch.ts'
import { namesWith, VENDOR_NAMES, type VendorName } from '../sources/vendors.ts'
import type { Store } from '../store/store.ts'
import { withOffice, withStore } from './office.ts'
import { say, toTable } from './terminal.ts'

const VERIFIERS = [...new Set([...namesWith('nin'), ...namesWith('bvn')])]

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
    .option('--json', 'print a list for a program')
    .action(({ json }: { json?: true }) =>
      withStore(async ({ store, config }) => showStatus(await readReports(store, config), json)),
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
    .addArgument(new Argument('<name>', 'the source').choices(VERIFIERS))
    .action((name: string) => runSwitch(name, 'disable'))

  sources
    .command('enable')
    .description('let a source be asked again')
    .addArgument(new Argument('<name>', 'the source').choices(VERIFIERS))
    .action((name: string) => runSwitch(name, 'enable'))
}

async function readReports(store: Store, config: Config): Promise<SourceReport[]> {
  const outside = (names: readonly string[], operation: string) =>
    names.filter((name) => name !== 'registry').map((source) => ({ source, operation }))
  return toReports({
    order: [...outside(config.ninSources, 'verify_nin'), ...outside(config.bvnSources, 'verify_bvn')],
    states: await store.sources.listStates(Date.now() - STATE_LIFE_MS),
    disabled: await store.sources.listDisabled(),
    spent: await store.sources.listSpend(toLagosDay(Date.now())),
    prices: toPrices(config),
  })
}

function showStatus(reports: readonly SourceReport[], json: true | undefined): void {
  if (json) say(JSON.stringify(reports))
  else if (reports.length === 0)
    say('No vendor is in use. Name some in TABBAT_NIN_SOURCES and TABBAT_BVN_SOURCES: see docs/sources.md')
  else say(toStatusTable(reports))
}

const toStatusTable = (reports: readonly SourceReport[]) =>
  toTable([
    ['source', 'operation', 'node', 'state', 'calls', 'errors', 'p50/p95/p99 ms', 'last success', 'today'],
    ...reports.map((report) => [
      report.source,
      report.operation,
      report.node?.slice(0, 8) ?? '-',
      report.disabled ? 'disabled' : (report.figures?.state ?? 'not running'),
      String(report.figures?.calls ?? '-'),
      report.figures ? `${Math.round(report.figures.errorRate * 100)} %` : '-',
      toTimes(report),
      report.figures?.lastSuccessAt ?? '-',
      toSpend(report),
    ]),
  ])

const toTimes = ({ figures }: SourceReport) =>
  figures?.p50 == null ? '-' : `${figures.p50}/${figures.p95}/${figures.p99}`

const toNaira = (kobo: number) => `₦${(kobo / 100).toFixed(2)}`

const toSpend = ({ callsToday, spentKoboToday, capKobo }: SourceReport) =>
  `${callsToday} calls, ${toNaira(spentKoboToday)}${capKobo === null ? '' : ` of ${toNaira(capKobo)}`}`

async function runCheck(name: VendorName, { json }: { json?: true }): Promise<void> {
  const config = loadConfig()
  if (!config.vendors[name])
    throw new Refusal(`Nothing is set for ${name}. See docs/sources.md for the variables it needs.`)
  const source = await openVendor(name, {
    vendors: config.vendors,
    allowPrivate: config.sourcesPrivate === 'on',
  })
  try {
    const result = await checkSource(source, readShippedFolder())
    if (json) say(JSON.stringify(result))
    else {
      say(`${name} was asked for ${result.asked}: ${result.result}, after ${result.ms} ms.`)
      say(result.explanation)
    }
    if (!result.ok) process.exitCode = 1
  } finally {
    await source.close?.()
  }
}

async function runSwitch(name: string, to: 'disable' | 'enable'): Promise<void> {
  await withOffice(async ({ store, audit }) => {
    const desk = { table: store.sources, audit }
    const changed = await (to === 'disable' ? disableSource(desk, name) : enableSource(desk, name))
    if (to === 'disable')
      say(changed ? `${name} is switched off; servers obey within 5 seconds.` : `${name} was off already.`)
    else say(changed ? `${name} may be asked again, within 5 seconds.` : `${name} was on already.`)
  })
}
