import { Argument, type Command } from 'commander'
import { readShippedFolder } from '../catalogue/catalogue.ts'
import { loadConfig } from '../context/config.ts'
import { toCommandAuthor } from '../contract/free-text.ts'
import { toNaira } from '../contract/naira.ts'
import { KINDS } from '../crypto/mac.ts'
import { UserError } from '../errors.ts'
import { findEmptyRegistry } from '../registry/empty-registry.ts'
import { say, sayJson, toCount, toTable } from '../server/terminal.ts'
import type { SourceSettings } from '../sources/settings.ts'
import type { SourceReport } from '../sources/source-control.ts'
import {
  checkVendor,
  disableSource,
  enableSource,
  readCallOrders,
  readSourceReports,
  requireVendor,
} from '../sources/source-control.ts'
import { changeOrder, type OrderKind } from '../sources/source-order.ts'
import { createSpendLeases, toPrices } from '../sources/spend-leases.ts'
import { withCommandContext, withStore } from './command-context.ts'
import { addHelp, EXIT_CODES } from './help.ts'

export function addSourcesCommand(program: Command): void {
  const sources = program
    .command('sources')
    .description('show the state of the vendors, test one, disable one')
  addHelp(sources, {
    examples: {
      'sources status': 'state, error rate, response times and spend of every source',
      'sources disable dojah': 'stop calling a vendor on all nodes, within 5 seconds',
    },
  })
  addStatusCommand(sources)
  addCheckCommand(sources)
  addSwitchCommands(sources)
  addSourcesOrderCommand(sources)
}

function addStatusCommand(sources: Command): void {
  const command = sources
    .command('status')
    .description('state, error rate, response times and spend of every source, per running server')
    .option('--json', 'print a JSON array; calls and spend of today are those of all servers')
    .action(({ json }: { json?: true }) =>
      withStore(async ({ store, config }) => {
        showStatus(await readSourceReports(store, config), json)
        if (json) return
        for (const kind of KINDS) {
          const text = await findEmptyRegistry(store, config, kind)
          if (text !== undefined) say(text)
        }
      }),
    )
  addHelp(command, {
    details:
      'Servers report their calls, errors and response times every ten seconds. Calls and spend of today are counted at once.',
    usesDatabase: true,
    settings: ['TABBAT_NIN_SOURCES', 'TABBAT_BVN_SOURCES', 'TABBAT_CATALOGUE_SOURCES'],
    exitCodes: EXIT_CODES,
    examples: { 'sources status': 'two tables', 'sources status --json': 'a JSON array' },
  })
}

function addCheckCommand(sources: Command): void {
  const command = sources
    .command('check')
    .description('call a vendor once, with its test number, and explain the result')
    .argument('<name>', 'the vendor')
    .option('--json', 'print a JSON object')
    .action(runCheck)
  addHelp(command, {
    details:
      'The vendor may bill the call. It counts towards the daily cap and is recorded in the audit log. The settings of the vendor (TABBAT_<VENDOR>_…) must be set; see docs/sources.md.',
    usesDatabase: true,
    exitCodes: { 0: 'the vendor gave a usable answer', 1: 'it did not, or it could not be called' },
    examples: { 'sources check dojah': 'one call, explained', 'sources check dojah --json': 'print JSON' },
  })
}

function addSwitchCommands(sources: Command): void {
  const disable = sources
    .command('disable')
    .description('stop calling a vendor, on all nodes, until it is enabled again')
    .argument('<name>', 'the vendor')
    .action((name: string) => runSwitch(name, 'disable'))
  addHelp(disable, {
    details: 'Running servers follow within 5 seconds. Verifications go to the next source of the list.',
    usesDatabase: true,
    exitCodes: EXIT_CODES,
    examples: {
      'sources disable dojah': 'stop calling Dojah',
      'sources disable vtpass': 'stop fetching lists from VTpass',
    },
  })

  const enable = sources
    .command('enable')
    .description('call a disabled vendor again')
    .argument('<name>', 'the vendor')
    .action((name: string) => runSwitch(name, 'enable'))
  addHelp(enable, {
    details: 'Running servers follow within 5 seconds.',
    usesDatabase: true,
    exitCodes: EXIT_CODES,
    examples: {
      'sources enable dojah': 'call Dojah again',
      'sources enable vtpass': 'fetch lists from VTpass again',
    },
  })
}

function showStatus(reports: readonly SourceReport[], json: true | undefined): void {
  if (json) say(JSON.stringify(reports))
  else if (reports.length === 0)
    say('No vendor is configured. Set TABBAT_NIN_SOURCES and TABBAT_BVN_SOURCES. See docs/sources.md.')
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

/** Calls and spend are counted per vendor, over all operations and nodes. */
const toSpendTable = (reports: readonly SourceReport[]) =>
  toTable([
    ['source', 'today'],
    ...Map.groupBy(reports, ({ source }) => source)
      .values()
      .map(([report]) => (report ? [report.source, toSpend(report)] : [])),
  ])

/** A vendor of lists is called at intervals: its state is the outcome of the last sync. */
function toState({ disabled, figures, lastSync }: SourceReport): string {
  if (disabled) return 'disabled'
  if (lastSync !== undefined) return lastSync?.outcome ?? 'not called yet'
  return [figures?.state ?? 'not running', ...(figures?.warnings ?? [])].join(', ')
}

const toTimes = ({ figures }: SourceReport) =>
  figures?.p50 == null ? '-' : `${figures.p50}/${figures.p95}/${figures.p99}`

const toSpend = ({ callsToday, spentKoboToday, capKobo }: SourceReport) =>
  `${toCount(callsToday, 'call')}, ${toNaira(spentKoboToday)}${capKobo === null ? '' : ` of ${toNaira(capKobo)}`}`

async function runCheck(name: string, { json }: { json?: true }): Promise<void> {
  // Before a database is created.
  requireVendor(loadConfig(), name)
  const { result, database } = await withCommandContext(async (context) => {
    const { config, store, auditLog: audit, database } = context
    const leases = createSpendLeases(store.spend, toPrices(config), audit.owner)
    const deps = { config, store, audit, leases, author: toCommandAuthor() }
    const result = await checkVendor(deps, name, readShippedFolder()).finally(leases.close)
    return { result, database }
  })
  if (json) sayJson({ database }, result)
  else {
    say(`${name} was called for ${result.asked}: ${result.result}, after ${result.ms} ms.`)
    say(result.explanation)
  }
  if (!result.ok) process.exitCode = 1
}

async function runSwitch(name: string, to: 'disable' | 'enable'): Promise<void> {
  await withCommandContext(async ({ config, store, audit }) => {
    requireKnown(config, name)
    const deps = { table: store.sources, audit }
    const changed = await (to === 'disable' ? disableSource(deps, name) : enableSource(deps, name))
    if (to === 'disable')
      say(changed ? `${name} is disabled. Servers follow within 5 seconds.` : `${name} was disabled already.`)
    else
      say(changed ? `${name} is enabled. Servers follow within 5 seconds.` : `${name} was enabled already.`)
  })
}

function requireKnown({ knownVendors }: Pick<SourceSettings, 'knownVendors'>, name: string): void {
  if (!knownVendors.has(name))
    throw new UserError(`There is no vendor ${name}. Choose one of ${[...knownVendors.keys()].join(', ')}.`)
}

function addSourcesOrderCommand(sources: Command): void {
  const command = sources
    .command('order')
    .description('show or change the order in which the sources are called, on all nodes')
    .addArgument(new Argument('<kind>', 'the kind of number').choices(['nin', 'bvn']))
    .argument('[names]', 'the configured sources in the new order, separated by commas')
    .option('--reset', 'use the order of the settings again')
    .action(runOrder)
  addHelp(command, {
    details:
      'The order replaces that of TABBAT_NIN_SOURCES or TABBAT_BVN_SOURCES until it is reset. Running servers follow within 5 seconds. A source that is added to the setting later is called last.',
    usesDatabase: true,
    settings: ['TABBAT_NIN_SOURCES', 'TABBAT_BVN_SOURCES'],
    exitCodes: EXIT_CODES,
    examples: {
      'sources order nin': 'the present order',
      'sources order nin registry,prembly,dojah': 'call Prembly before Dojah',
      'sources order nin --reset': 'the order of the setting',
    },
  })
}

async function runOrder(
  kind: OrderKind,
  names: string | undefined,
  { reset }: { reset?: true },
): Promise<void> {
  if (!names && !reset) {
    await withStore(async ({ store, config }) =>
      say((await readCallOrders(store, config))[kind].names.join(',')),
    )
    return
  }
  if (names && reset) throw new UserError('Give either an order or --reset.')
  await withCommandContext(async ({ store, audit, config }) => {
    const order = names?.split(',').map((name) => name.trim())
    await changeOrder({ table: store.sourceOrders, audit }, kind, config[`${kind}Sources`], order)
    const { names: now } = (await readCallOrders(store, config))[kind]
    say(`${kind.toUpperCase()}: ${now.join(', ')}. Servers follow within 5 seconds.`)
  })
}
