import type { Config } from '../config/config.ts'
import type { SourceName } from '../config/source-settings.ts'
import type { NinRecord } from '../contract/nin.ts'
import type { Kind } from '../crypto/blind-index.ts'
import { toPictureMark } from '../registry/media-link.ts'
import type { Entry } from '../registry/record-codec.ts'
import type { Registry } from '../registry/registry.ts'
import { type CallGuard, createCallGuard, type GuardEvent } from '../sources/guard/call-guard.ts'
import { createCooldown } from '../sources/guard/cooldown.ts'
import { createSharedState, type Prices } from '../sources/guard/shared-state.ts'
import { openVendor } from '../sources/open-vendor.ts'
import { createRegistrySource } from '../sources/registry/index.ts'
import { createSandboxSource } from '../sources/sandbox/index.ts'
import type { Source } from '../sources/source.ts'
import { toCallOrder } from '../sources/source-order.ts'
import type { SourceCalls } from '../statistics/source-calls.ts'
import type { SourceOrderTable } from '../store/source-order-table.ts'
import type { SourceTable, Spent } from '../store/source-table.ts'
import type { Log } from '../telemetry/log.ts'
import type { GuardedSource, Sources } from '../verification/verification-deps.ts'

/** All sources in the order of asking, each external one with its guard. */
export type SourceChain = {
  readonly sources: Sources
  readonly guards: readonly CallGuard[]
  /** When the kill switches were last read, on the monotonic clock. */
  readonly learntAt: () => number
  readonly listSpend: () => Promise<Spent[]>
  readonly prices: Prices
  /** One line for each operation that a named source cannot serve. */
  readonly warnings: readonly string[]
  readonly forget: () => Promise<void>
  readonly close: () => Promise<void>
}

type ChainDeps = {
  readonly registry: Registry
  readonly table: SourceTable
  readonly orders: Pick<SourceOrderTable, 'list'>
  readonly node: string
  /** Gets an event when the breaker of a source changes or a source needs the operator. */
  readonly log: Pick<Log, 'event'>
  /** Statistics of the calls to vendors. */
  readonly calls: Pick<SourceCalls, 'count'>
}

export async function openSourceChain(config: Config, deps: ChainDeps): Promise<SourceChain> {
  const opened = await openAll(config, deps)
  const prices = toPrices(config)
  const sharedState = createSharedState({ ...deps, prices })
  const guards: CallGuard[] = []
  const cooldowns = new Map([...opened.keys()].map((name) => [name, createCooldown()]))
  const toChain = (kind: Kind, order: readonly SourceName[]): GuardedSource[] =>
    order.map((name) => {
      const source = opened.get(name) as Source
      if (!source.isExternal) return { source }
      const operation = `verify_${kind}`
      const onEvent = ({ event, ...rest }: GuardEvent) =>
        deps.log.event('warn', event, { source: name, operation, ...rest })
      const guard = createCallGuard(name, operation, sharedState, {
        cooldown: cooldowns.get(name) ?? createCooldown(),
        onEvent,
        onCall: ({ result, ms, isPaid }) => {
          const kobo = isPaid ? (prices[name]?.price ?? 0) : 0
          deps.calls.count({ source: name, operation, result, ms, kobo })
        },
      })
      guards.push(guard)
      return { source, guard }
    })
  const sandbox = [{ source: createSandboxSource() }]
  const sources: Sources = {
    test: { nin: sandbox, bvn: sandbox },
    live: toOrderedChains(
      { nin: toChain('nin', config.ninSources), bvn: toChain('bvn', config.bvnSources) },
      sharedState.order,
    ),
  }
  await sharedState.watch(guards)
  return {
    sources,
    guards,
    warnings: listWarnings(config, opened),
    learntAt: sharedState.learntAt,
    listSpend: sharedState.listSpend,
    prices,
    forget: sharedState.forget,
    close: async () => {
      await sharedState.close()
      for (const source of opened.values()) await source.close?.()
    },
  }
}

/** The order can change while the server runs; it is applied when it was read anew. */
function toOrderedChains(
  chains: Sources['live'],
  readOrder: (kind: Kind) => readonly string[] | undefined,
): Sources['live'] {
  const toReader = (kind: Kind) => {
    let order: readonly string[] | undefined
    let ordered = chains[kind]
    return () => {
      const latest = readOrder(kind)
      if (latest !== order) {
        order = latest
        ordered = toCallOrder(chains[kind], latest, ({ source }) => source.name)
      }
      return ordered
    }
  }
  const [readNin, readBvn] = [toReader('nin'), toReader('bvn')]
  return {
    get nin() {
      return readNin()
    },
    get bvn() {
      return readBvn()
    },
  }
}

async function openAll(config: Config, deps: ChainDeps): Promise<ReadonlyMap<SourceName, Source>> {
  const options = { vendors: config.vendors, allowPrivate: config.sourcesPrivate === 'on' }
  const opened = new Map<SourceName, Source>()
  for (const name of new Set([...config.ninSources, ...config.bvnSources]))
    opened.set(name, name === 'registry' ? openRegistrySource(deps) : await openVendor(name, options))
  return opened
}

function openRegistrySource({ registry }: ChainDeps): Source {
  const { find, open, toQuestion, isEmpty } = registry
  return createRegistrySource({
    isEmpty,
    findBvn: async (bvn) => (await find('bvn', bvn))?.record,
    findNin: async (nin) => toNinRecord(await find('nin', nin)),
    local: {
      toQuestion,
      openBvn: (bvn, rows) => {
        const entry = open('bvn', bvn, rows)
        return entry instanceof Promise ? entry.then((opened) => opened?.record) : entry?.record
      },
      openNin: (nin, rows) => {
        const entry = open('nin', nin, rows)
        return entry instanceof Promise ? entry.then(toNinRecord) : toNinRecord(entry)
      },
    },
  })
}

/** The link to the picture is made for each API key: see media-link.ts. */
function toNinRecord(entry: Entry<'nin'> | undefined): NinRecord | undefined {
  if (!entry) return undefined
  const { record, mediaId } = entry
  return { ...record, personal_info: { ...record.personal_info, image_url: toPictureMark(mediaId) } }
}

/** The price of a call and the daily cap of each vendor. Bundle lists are free. */
export const toPrices = ({ vendors }: Pick<Config, 'vendors'>) =>
  Object.fromEntries(
    Object.entries(vendors).map(([name, values]) => [
      name,
      {
        price: 'price' in values ? values.price : 0,
        dailyCap: 'dailyCap' in values ? values.dailyCap : undefined,
      },
    ]),
  )

function listWarnings(config: Config, opened: ReadonlyMap<SourceName, Source>): string[] {
  const named = new Set([...config.ninSources, ...config.bvnSources])
  return [...named]
    .filter((name) => opened.get(name)?.needsNames)
    .map((name) => `${name} needs the name of the person: it is passed over for requests without ${NAMES}.`)
}

const NAMES =
  'first_name and last_name (first_name, for the usual BVN product), unless TABBAT_QOREID_NAMES_OPTIONAL=on'
