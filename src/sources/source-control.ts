import type { AuditEntry } from '../audit/row.ts'
import type { CatalogueFiles } from '../contract/catalogue-files.ts'
import { toLagosDay } from '../contract/time.ts'
import { UserError } from '../errors.ts'
import { type CheckResult, checkSource } from './check-source.ts'
import { createSharedState, STATE_LIFE_MS } from './guard/shared-state.ts'
import { openVendor } from './open-vendor.ts'
import type { SourceSettings } from './settings.ts'
import { toPrices } from './source-chain.ts'
import { type OrderKind, toCallOrder } from './source-order.ts'
import type { SourceOrderTable } from './source-order-table.ts'
import type { SourceTable } from './source-table.ts'
import type { Facts } from './status-report.ts'
import { type SourceReport, toReports } from './status-report.ts'
import type { VendorName } from './vendors.ts'

type SourceDeps = {
  readonly config: SourceSettings
  readonly store: { readonly sources: SourceTable }
  readonly audit: { readonly record: (entries: readonly AuditEntry[]) => Promise<void> }
  /** The node that makes the call. */
  readonly node: string
}

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

export function requireVendor({ vendors }: Pick<SourceSettings, 'vendors'>, name: VendorName): void {
  if (!vendors[name])
    throw new UserError(`${name} is not configured. See docs/sources.md for the variables it needs.`)
}

/** The check obeys the kill switch and the spend cap, and is audited, like any other call. */
export async function checkVendor(
  { config, store, audit, node }: SourceDeps,
  name: VendorName,
  lists: CatalogueFiles,
): Promise<CheckResult> {
  requireVendor(config, name)
  if ((await store.sources.listDisabled()).includes(name))
    throw new UserError(`${name} is disabled. Enable it first: tabbat sources enable ${name}`)
  const sharedState = createSharedState({ table: store.sources, prices: toPrices(config), node })
  const source = await openVendor(name, {
    vendors: config.vendors,
    allowPrivate: config.sourcesPrivate === 'on',
  })
  try {
    return await checkSource(source, lists, { audit, spend: sharedState.spend })
  } finally {
    await source.close?.()
    await sharedState.close()
  }
}
