import { Argument, type Command } from 'commander'
import { readShippedFolder } from '../catalogue/catalogue.ts'
import { type Config, loadConfig } from '../config.ts'
import { Refusal } from '../errors.ts'
import { toPrices } from '../source-line.ts'
import { createAgreement, STATE_LIFE_MS, toLagosDay } from '../sources/agreement.ts'
import { type CheckResult, checkSource } from '../sources/check.ts'
import { openVendor } from '../sources/index.ts'
import { type SourceReport, toReports } from '../sources/status-report.ts'
import { disableSource, enableSource } from '../sources/switch.ts'
import { VENDOR_NAMES, type VendorName } from '../sources/vendors.ts'
import type { Store } from '../store/store.ts'
import { type Office, withOffice, withStore } from './office.ts'
import { say, toTable } from './terminal.ts'

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
    .addArgument(new Argument('<name>', 'the source').choices(VENDOR_NAMES))
    .action((name: string) => runSwitch(name, 'disable'))

  sources
    .command('enable')
    .description('let a source be asked again')
    .addArgument(new Argument('<name>', 'the source').choices(VENDOR_NAMES))
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
    lists: config.catalogueSources ?? [],
    syncs: await store.catalogue.listSyncs(),
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
    [
      'source',
      'operation',
      'node',
      'state',
      'calls',
      'errors',
      'p50/p95/p99 ms',
      'last success or sync',
      'today',
    ],
    ...reports.map((report) => [
      report.source,
      report.operation,
      report.node?.slice(0, 8) ?? '-',
      toState(report),
      String(report.figures?.calls ?? '-'),
      report.figures ? `${Math.round(report.figures.errorRate * 100)} %` : '-',
      toTimes(report),
      report.figures?.lastSuccessAt ?? report.lastSync?.at ?? '-',
      toSpend(report),
    ]),
  ])

/** Lists are fetched now and then, so what counts is how that ended the last time. */
function toState({ disabled, figures, lastSync }: SourceReport): string {
  if (disabled) return 'disabled'
  if (lastSync !== undefined) return lastSync?.outcome ?? 'not asked yet'
  return figures?.state ?? 'not running'
}

const toTimes = ({ figures }: SourceReport) =>
  figures?.p50 == null ? '-' : `${figures.p50}/${figures.p95}/${figures.p99}`

const toNaira = (kobo: number) => `₦${(kobo / 100).toFixed(2)}`

const toSpend = ({ callsToday, spentKoboToday, capKobo }: SourceReport) =>
  `${callsToday} calls, ${toNaira(spentKoboToday)}${capKobo === null ? '' : ` of ${toNaira(capKobo)}`}`

async function runCheck(name: VendorName, { json }: { json?: true }): Promise<void> {
  if (!loadConfig().vendors[name])
    throw new Refusal(`Nothing is set for ${name}. See docs/sources.md for the variables it needs.`)
  const result = await withOffice((office) => checkInOffice(office, name))
  if (json) say(JSON.stringify(result))
  else {
    say(`${name} was asked for ${result.asked}: ${result.result}, after ${result.ms} ms.`)
    say(result.explanation)
  }
  if (!result.ok) process.exitCode = 1
}

/** A question like any other: not past the kill switch, within the cap, and in the audit log. */
async function checkInOffice({ config, store, audit }: Office, name: VendorName): Promise<CheckResult> {
  if ((await store.sources.listDisabled()).includes(name))
    throw new Refusal(`${name} is switched off. Let it be asked again first: tabbat sources enable ${name}`)
  const agreement = createAgreement({ table: store.sources, prices: toPrices(config), node: audit.owner })
  const source = await openVendor(name, {
    vendors: config.vendors,
    allowPrivate: config.sourcesPrivate === 'on',
  })
  try {
    return await checkSource(source, readShippedFolder(), { audit, spend: agreement.spend })
  } finally {
    await source.close?.()
    await agreement.close()
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
