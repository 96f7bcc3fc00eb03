import { randomInt, randomUUID } from 'node:crypto'
import { type AuditLog, withAuthor } from '../audit/audit-log.ts'
import type { AuditEntry } from '../audit/row.ts'
import type { CatalogueFiles } from '../contract/bundles.ts'
import { toLagosDay } from '../contract/time.ts'
import type { Kind } from '../crypto/mac.ts'
import { UserError } from '../errors.ts'
import { withDeadline } from '../telemetry/running-clock.ts'
import { type GuardFigures, isPaid } from './guard/call-guard.ts'
import { STATE_LIFE_MS } from './guard/shared-state.ts'
import { openVendor } from './open-vendor.ts'
import type { SourceSettings } from './settings.ts'
import { type Answer, type Call, type Source, SourceError, type SourceFailure } from './source.ts'
import type { SourceOrderTable } from './source-order.ts'
import { type OrderKind, toCallOrder } from './source-order.ts'
import { SOURCE_PROBLEMS } from './source-problem.ts'
import type { PublishedState, SourceTable, Spent } from './source-table.ts'
import { type Money, type Prices, priceOf, type SpendLeases, toPrices } from './spend-leases.ts'
import { createCallId } from './vendor-file/template.ts'

export type SourceDeps = {
  readonly config: SourceSettings
  readonly store: { readonly sources: SourceTable }
} & CheckDeps

/** The state of every source, as the running servers reported it. */
export async function readSourceReports(
  store: { readonly sources: SourceTable; readonly sourceOrders: SourceOrderTable } & {
    readonly catalogue: { readonly listSyncs: () => Promise<Facts['syncs']> }
  },
  config: SourceSettings & { readonly catalogueSources: readonly string[] | undefined },
): Promise<SourceReport[]> {
  const { nin, bvn } = await readCallOrders(store, config)
  const external = (names: readonly string[], operation: string) =>
    names.filter((name) => name !== 'registry').map((source) => ({ source, operation }))
  return toReports({
    order: [...external(nin.names, 'verify_nin'), ...external(bvn.names, 'verify_bvn')],
    states: await store.sources.listStates(Date.now() - STATE_LIFE_MS),
    disabled: await store.sources.listDisabled(),
    spent: await store.sources.listSpend(toLagosDay(Date.now())),
    prices: toPrices(config),
    lists: config.catalogueSources ?? [],
    syncs: await store.catalogue.listSyncs(),
  })
}

/** `isChanged`: the order was changed while the servers run, and replaces that of the settings. */
type CallOrder = { readonly names: readonly string[]; readonly isChanged: boolean }

/** The order in which the servers call the sources. */
export async function readCallOrders(
  { sourceOrders }: { readonly sourceOrders: SourceOrderTable },
  config: Pick<SourceSettings, 'ninSources' | 'bvnSources'>,
): Promise<Readonly<Record<OrderKind, CallOrder>>> {
  const stored = await sourceOrders.list()
  const read = (kind: OrderKind): CallOrder => {
    const order = stored.find((each) => each.kind === kind)?.names
    const names = toCallOrder<string>(config[`${kind}Sources`], order, (name) => name)
    return { names, isChanged: order !== undefined }
  }
  return { nin: read('nin'), bvn: read('bvn') }
}

export function requireVendor({ vendors }: Pick<SourceSettings, 'vendors'>, name: string): void {
  if (!vendors[name])
    throw new UserError(`${name} is not configured. See docs/sources.md for the variables it needs.`)
}

/** The check obeys the kill switch and the spend cap, and is audited, like any other call. */
export async function checkVendor(
  { config, store, ...deps }: SourceDeps,
  name: string,
  lists: CatalogueFiles,
): Promise<CheckResult> {
  requireVendor(config, name)
  await requireEnabled(store, name)
  const source = await openVendor(name, {
    vendors: config.vendors,
    allowPrivate: config.sourcesPrivate === 'on',
  })
  try {
    return await checkSource(source, lists, deps)
  } finally {
    await source.close?.()
  }
}

export async function requireEnabled(store: SourceDeps['store'], name: string): Promise<void> {
  if ((await store.sources.listDisabled()).includes(name))
    throw new UserError(`${name} is disabled. Enable it first: tabbat sources enable ${name}`)
}

type SwitchDeps = {
  readonly table: Pick<SourceTable, 'disable' | 'enable'>
  readonly audit: { readonly record: (entries: readonly AuditEntry[]) => Promise<void> }
}

/** Stops all calls to a source, on other nodes within five seconds. False when it was disabled already. */
export async function disableSource({ table, audit }: SwitchDeps, name: string): Promise<boolean> {
  await audit.record([{ phase: 'source_disabled', detail: name }])
  return table.disable(name, Date.now())
}

export async function enableSource({ table, audit }: SwitchDeps, name: string): Promise<boolean> {
  await audit.record([{ phase: 'source_enabled', detail: name }])
  return table.enable(name)
}

/** State of one operation of a source on one node; without figures when no node is running. */
export type SourceReport = {
  readonly source: string
  readonly operation: string
  readonly node: string | null
  readonly figures: GuardFigures | null
  readonly disabled: boolean
  readonly callsToday: number
  readonly spentKoboToday: number
  readonly capKobo: number | null
  readonly priceKobo: number
  /** Only for vendors of lists: the last sync and its outcome. */
  readonly lastSync?: { readonly at: string; readonly outcome: string } | null
}

type Facts = {
  /** Sources in the order in which they are queried. */
  readonly order: readonly { readonly source: string; readonly operation: string }[]
  readonly states: readonly PublishedState[]
  readonly disabled: readonly string[]
  readonly spent: readonly Spent[]
  readonly prices: Prices
  /** The vendors whose lists are fetched. */
  readonly lists: readonly string[]
  readonly syncs: readonly {
    readonly source: string
    readonly startedAt: number
    readonly outcome: string | undefined
  }[]
}

/** One report for each source, operation and node, and one for each vendor of lists. */
function toReports(facts: Facts): SourceReport[] {
  const { order, states, lists, syncs } = facts
  const identity = order.flatMap(({ source, operation }): SourceReport[] => {
    const common = toCommon(facts, source, operation)
    const seen = states.filter((state) => state.name === source && state.operation === operation)
    if (seen.length === 0) return [{ ...common, node: null, figures: null }]
    return seen.map(({ node, state }) => ({ ...common, node, figures: JSON.parse(state) as GuardFigures }))
  })
  const catalogue = lists.map((source): SourceReport => {
    const sync = syncs.find((row) => row.source === source)
    const lastSync = sync
      ? { at: new Date(sync.startedAt).toISOString(), outcome: sync.outcome ?? 'under way' }
      : null
    return { ...toCommon(facts, source, 'catalogue_sync'), node: null, figures: null, lastSync }
  })
  return [...identity, ...catalogue]
}

function toCommon({ disabled, spent, prices }: Facts, source: string, operation: string) {
  const today = spent.find(({ name }) => name === source)
  return {
    source,
    operation,
    disabled: disabled.includes(source),
    callsToday: today?.calls ?? 0,
    spentKoboToday: today?.kobo ?? 0,
    capKobo: prices[source]?.dailyCap ?? null,
    priceKobo: priceOf(prices[source], operation === 'verify_bvn' ? 'bvn' : 'nin'),
  }
}

type CheckResult = {
  readonly source: string
  readonly ok: boolean
  /** What was queried: a test number of the vendor, or an unassigned number. */
  readonly asked: string
  readonly result: 'found' | 'not_found' | 'names_differ' | 'listed' | SourceFailure | 'cannot'
  readonly ms: number
  readonly explanation: string
}

export type CheckDeps = {
  readonly audit: Pick<AuditLog, 'recordWith'>
  readonly leases: Pick<SpendLeases, 'take' | 'lose' | 'refundLate'>
  /** The account that asks for it. */
  readonly author: string
}

/** Belongs to no network. */
export const PHONE = '8000000000'
const TIMEOUT_MS = 15_000

/**
 * No NIN or BVN begins with zeros, so the answer is "not found", which proves that the credentials work. It differs each
 * time, because a relay limits failed guesses per number.
 */
export const toUnassignedNumber = () => `0000${randomInt(1_000_000, 10_000_000)}`

/** Makes one call and explains the result. The call is in the audit log before it is made, and counts as spend. */
export async function checkSource(
  source: Source,
  lists: CatalogueFiles,
  deps: CheckDeps,
): Promise<CheckResult> {
  const probe = toProbe(source, lists)
  if (!probe)
    return {
      source: source.name,
      ok: false,
      asked: 'nothing',
      result: 'cannot',
      ms: 0,
      explanation: 'This source has no operation to check.',
    }
  return runProbe(source.name, probe, deps)
}

type OwnCall = { readonly source: string; readonly detail?: string; readonly kind: Kind | undefined }

/**
 * A call of an operator, not of a caller: it is in the audit log before it is made, and counts as spend. What the vendor does not bill
 * is given back.
 */
export async function makeOwnCall<T>(
  deps: CheckDeps,
  { source, detail = source, kind }: OwnCall,
  run: (call: Call) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  const entries = withAuthor([{ phase: 'source_checked', detail }], deps.author)
  const money = kind ? await pay(deps, source, kind, entries) : undefined
  if (!money) await deps.audit.recordWith({}, entries)
  const reference = `chk_${createCallId()}`
  try {
    return await withDeadline(TIMEOUT_MS, (limit) => run({ signal: limit, reference }), signal)
  } catch (error) {
    if (money && error instanceof SourceError && !isPaid(error))
      await deps.leases.refundLate({ ...money, id: randomUUID() })
    throw error
  }
}

/** The price and the audit row, in one commit. */
async function pay(
  { audit, leases }: CheckDeps,
  name: string,
  kind: Kind,
  entries: readonly AuditEntry[],
): Promise<Money> {
  for (;;) {
    const money = await leases.take(name, kind)
    if (money === 'spend_cap')
      throw new UserError(`The next call of ${name} would exceed its daily cap, so it was not made.`)
    let isWritten = false
    try {
      isWritten = (await audit.recordWith({ spending: [{ ...money, calls: 1 }] }, entries)) === undefined
      if (isWritten) return money
    } finally {
      if (!isWritten) leases.lose(money)
    }
  }
}

async function runProbe(source: string, { asked, kind, run }: Probe, deps: CheckDeps): Promise<CheckResult> {
  let startedAt = performance.now()
  const runTimed = (call: Call) => {
    startedAt = performance.now()
    return run(call)
  }
  const finish = (rest: Pick<CheckResult, 'ok' | 'result' | 'explanation'>): CheckResult => ({
    source,
    asked,
    ms: Math.round(performance.now() - startedAt),
    ...rest,
  })
  try {
    return finish({ ok: true, ...(await makeOwnCall(deps, { source, kind }, runTimed)) })
  } catch (error) {
    if (!(error instanceof SourceError)) throw error
    return finish({ ok: false, result: error.reason, explanation: explainError(error) })
  }
}

export const explainError = ({ problem }: SourceError): string =>
  problem ? SOURCE_PROBLEMS[problem] : 'The vendor could not answer.'

type Probe = {
  readonly asked: string
  /** Absent for lists, which are free. */
  readonly kind?: Kind
  readonly run: (call: Call) => Promise<Pick<CheckResult, 'result' | 'explanation'>>
}

function toProbe(
  { findNin, findBvn, fetchCatalogue, samples }: Source,
  lists: CatalogueFiles,
): Probe | undefined {
  if (findNin) {
    const nin = samples?.nin ?? toUnassignedNumber()
    return {
      asked: 'a NIN',
      kind: 'nin',
      run: async (call) => toResult(await findNin({ nin, phone: PHONE, details: samples?.details }, call)),
    }
  }
  if (findBvn) {
    const bvn = samples?.bvn ?? toUnassignedNumber()
    return {
      asked: 'a BVN',
      kind: 'bvn',
      run: async (call) => toResult(await findBvn({ bvn, phone: PHONE, details: samples?.details }, call)),
    }
  }
  if (!fetchCatalogue) return undefined
  return {
    asked: 'its lists',
    run: async (call) => {
      const { internet, tv } = await fetchCatalogue(lists, call)
      return {
        result: 'listed',
        explanation: `The vendor answered with ${internet.length + tv.length} lists.`,
      }
    },
  }
}

function toResult(answer: Answer<unknown>): Pick<CheckResult, 'result' | 'explanation'> {
  if (answer.found)
    return { result: 'found', explanation: 'The vendor knows its own test number: everything works.' }
  if (answer.namesDiffer)
    return {
      result: 'names_differ',
      explanation:
        'The vendor answered that its own test number has other names: address and credentials are good. No record was returned.',
    }
  return {
    result: 'not_found',
    explanation: 'The vendor answered that it has no such record: address and credentials are good.',
  }
}
