import { arch } from 'node:os'
import { CONTROL } from './parts/latency.ts'
import type { Latency, Results } from './parts/part.ts'
import { SLOW_DATABASE } from './parts/slow-database.ts'
import { NAMES, SLOW_CALLERS, SLOW_VENDOR_MS, type VendorResults } from './parts/vendor.ts'
import { toWorkersCost } from './parts/workers.ts'
import type { Figure } from './rounds.ts'

export type Target = {
  readonly name: string
  readonly wanted: string
  /** Undefined when it was not measured. */
  readonly figure: string | undefined
  readonly reached: boolean | undefined
}

type Limit = { readonly least: number } | { readonly most: number }

/** The targets, and whether this run reached them. The worst of several figures counts. */
export function toTargets({
  vendor,
  lookup = [],
  verify = [],
  slow = [],
  workers = [],
  latency = [],
  start,
  memory,
}: Results): Target[] {
  const test = find(verify, 'verify-nin, test')
  const [sqlite, sqliteKey] = findLive(verify, 'SQLite')
  const [postgres, postgresKey] = findLive(verify, 'PostgreSQL')
  const express = verify.filter(({ name }) => name.startsWith('Express'))
  const bundles = find(lookup, 'list-internet-bundles')
  const shares = lookup.flatMap(({ name, share, isEarlier }) =>
    name.startsWith('list-') && share && !isEarlier ? [share] : [],
  )
  return [
    ...(vendor ? toVendorTargets(vendor) : []),
    toTarget('each look-up, of bare node:http', { least: 0.85 }, shares),
    toTarget('verify-nin, test, of bare POST', { least: isArm ? 0.45 : 0.28 }, toList(test?.share)),
    toTarget('verify-nin, live, SQLite, of bare POST', { least: isArm ? 0.33 : 0.2 }, toList(sqlite?.share)),
    toTarget('verify-nin, test, times earlier', { least: 2.4 }, toList(test?.timesAgainst)),
    toTarget('verify-nin, live, SQLite, times earlier', { least: 2.5 }, toList(sqlite?.timesAgainst)),
    toTarget('verify-nin, live, PostgreSQL, times earlier', { least: 3 }, toList(postgres?.timesAgainst)),
    toTarget(
      'verify-nin, live, PostgreSQL, CPU µs of both',
      { most: 350 },
      postgres ? [postgres.cpuMicros + (postgres.besideMicros ?? 0)] : [],
    ),
    toTarget(
      'PostgreSQL 0.5 ms away, Idempotency-Key, times earlier',
      { least: 8 },
      toList(slow.find(({ name }) => name === `${SLOW_DATABASE}, Idempotency-Key`)?.timesAgainst),
    ),
    toTarget('with Idempotency-Key, of without, SQLite', { least: 0.8 }, toRatios(sqliteKey, [sqlite])),
    toTarget(
      'with Idempotency-Key, of without, PostgreSQL',
      { least: 0.8 },
      toRatios(postgresKey, [postgres]),
    ),
    toTarget('verify-nin, test, times Express', { least: 1.8 }, toRatios(test, express)),
    toTarget('verify-nin, live, SQLite, times Express', { least: 1.2 }, toRatios(sqlite, express)),
    toTarget('look-up, times Prism', { least: 10 }, toRatios(bundles, [find(lookup, 'Prism')])),
    toTarget('look-up, times Mockoon', { least: 10 }, toRatios(bundles, [find(lookup, 'Mockoon')])),
    toTarget(
      '2 workers, CPU a look-up, of 1 worker, of the same of bare',
      { most: 1.1 },
      toList(toWorkersCost(workers, 'GET')),
    ),
    toTarget(
      '2 workers, CPU a verification on PostgreSQL, likewise',
      { most: 1.15 },
      toList(toWorkersCost(workers, 'POST')),
    ),
    toLatencyTarget(latency),
    toTarget('start to ready, bundle, ms', { most: 350 }, toList(start?.bundleMs)),
    toTarget('idle memory, bundle, MB', { most: 100 }, toList(memory?.idleMb)),
    {
      ...toTarget('cost, 10 000 to 2 million records', { most: 1.15 }, []),
      figure: 'npm run bench:registry',
    },
  ]
}

function toVendorTargets({ figures, counts }: VendorResults): Target[] {
  const find = (name: string) => figures.find((each) => each.name === name)
  const ratio = (name: string, other: string, what: 'perSecond' | 'cpuMicros') => {
    const [one, two] = [find(name), find(other)]
    return one && two ? [one[what] / two[what]] : []
  }
  const added = (callers: number, what: 'p50Ms' | 'p99Ms') => {
    const [one, two] = [find(NAMES.slow(callers)), find(NAMES.slowControl(callers))]
    return one && two ? [one[what] - SLOW_VENDOR_MS, two[what] - SLOW_VENDOR_MS] : undefined
  }
  const toShare = (ms: number, callers: readonly number[]) =>
    callers.flatMap((count) => ratio(NAMES.distant(ms, count), NAMES.own(ms, count), 'perSecond'))
  const countsOf = (name: string) =>
    counts.filter((each) => each.name.startsWith(name)).map(({ each }) => each)
  const times = SLOW_CALLERS.flatMap((callers) => {
    const pair = added(callers, 'p99Ms')
    return pair ? [(pair[0] ?? 0) / (pair[1] ?? 1)] : []
  })
  return [
    toTarget('vendor: statements to PostgreSQL', { most: 3 }, countsOf('statements')),
    // A checkpoint of the audit log or of SQLite may fall into the count.
    toTarget('vendor: fsync on SQLite', { most: 2.1 }, countsOf('fsync')),
    toTarget('vendor, PostgreSQL 0.5 ms away, of own records', { least: 0.7 }, toShare(0.5, [64, 128])),
    toTarget('vendor, PostgreSQL 5 ms away, of own records', { least: 0.7 }, toShare(5, [128])),
    toTarget(
      'vendor, three nodes, times one',
      { least: 2 },
      ratio(NAMES.nodes(3), NAMES.nodes(1), 'perSecond'),
    ),
    toTarget(
      'vendor, SQLite, CPU, times the control',
      { most: 3 },
      ratio(NAMES.sqlite, NAMES.control, 'cpuMicros'),
    ),
    toTarget(
      'added to a vendor of 200 ms, p50 ms',
      { most: 5 },
      SLOW_CALLERS.flatMap((callers) => added(callers, 'p50Ms')?.slice(0, 1) ?? []),
    ),
    toTarget('added to a vendor of 200 ms, p99, times the control', { most: 5 }, times),
  ]
}

const MAX_P99_MS = 5

/** A look-up must be short. A verification, which waits for the disk, may also be no longer than the control; says which. */
function toLatencyTarget(latency: readonly Latency[]): Target {
  const name = 'p99 at 500 requests a second, ms'
  const wanted = `at most ${MAX_P99_MS}; a verification: or that of the control`
  const control = latency.find((each) => each.name === CONTROL)?.p99Ms
  const verification = latency.find((each) => each.name.startsWith('verify'))?.p99Ms
  const lookUp = latency.find((each) => each.name.startsWith('list'))?.p99Ms
  if (control === undefined || verification === undefined || lookUp === undefined)
    return { name, wanted, figure: undefined, reached: undefined }
  const times = verification / control
  const figure = `${lookUp.toFixed(2)}; ${verification.toFixed(2)}, ${times.toFixed(2)} times the control`
  return {
    name,
    wanted,
    figure,
    reached: lookUp <= MAX_P99_MS && (verification <= MAX_P99_MS || times <= 1),
  }
}

const isArm = arch() === 'arm64'

const find = (list: readonly Figure[], sign: string) => list.find(({ name }) => name.startsWith(sign))

/** Without and with an Idempotency-Key. */
const findLive = (list: readonly Figure[], engine: string) =>
  ['records', 'records, Idempotency-Key'].map((end) =>
    list.find(({ name }) => name.startsWith(`verify-nin, live, ${engine}`) && name.endsWith(end)),
  )

const toRatios = (figure: Figure | undefined, others: readonly (Figure | undefined)[]) =>
  others.flatMap((other) => (figure && other ? [figure.perSecond / other.perSecond] : []))

const toList = (figure: number | undefined) => (figure === undefined ? [] : [figure])

function toTarget(name: string, limit: Limit, figures: readonly number[]): Target {
  const wanted = 'least' in limit ? `at least ${limit.least}` : `at most ${limit.most}`
  if (figures.length === 0) return { name, wanted, figure: undefined, reached: undefined }
  const worst = 'least' in limit ? Math.min(...figures) : Math.max(...figures)
  const reached = 'least' in limit ? worst >= limit.least : worst <= limit.most
  return { name, wanted, figure: worst >= 100 ? worst.toFixed(0) : worst.toFixed(2), reached }
}
