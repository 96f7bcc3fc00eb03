import { createSecretKey } from 'node:crypto'
import fc from 'fast-check'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { openAuditLog } from '../../src/audit/audit-log.ts'
import { type AuditEntry, EMPTY_HEAD, linkEntries } from '../../src/audit/row.ts'
import { createSigner } from '../../src/audit/signing.ts'
import type { Store } from '../../src/context/store.ts'
import { DAY_MS } from '../../src/contract/time.ts'
import { tallyRows, toSpanName } from '../../src/ledger/tally.ts'
import {
  createLatencies,
  createSourceCalls,
  estimatePercentile,
  toBoundMs,
  toClass,
} from '../../src/statistics/counters.ts'
import {
  RANGES,
  toBounds,
  toCustomPeriod,
  toFirstKept,
  toPeriod,
  toPeriodBefore,
  toStepSeconds,
  toSteps,
} from '../../src/statistics/steps.ts'
import { describeEngines, ENGINES, newFolder } from '../engines.ts'

const OUTCOMES = ['verified', 'not_verified', 'source_timeout'] as const
const toTrail = (name: string, result: string) => JSON.stringify([{ name, result, ms: 1 }])

const anEntry = fc.record({
  phase: fc.constantFrom('intent', 'outcome', 'outcome', 'outcome', 'replay', 'key_created'),
  outcome: fc.constantFrom(...OUTCOMES),
  mode: fc.constantFrom('test', 'live'),
  key_id: fc.constantFrom('keyA', 'keyB'),
  operation: fc.constantFrom('verify_nin', 'verify_bvn'),
  sources: fc.constantFrom(toTrail('sandbox', 'found'), toTrail('dojah', 'timeout'), null),
})

const openLog = (store: Store) =>
  openAuditLog({
    table: store.audit,
    signer: createSigner(createSecretKey(Buffer.alloc(32, 42))),
    dataDir: newFolder(),
    checkpointDir: newFolder(),
    onUnavailable: () => {},
    onCheckpointFailure: () => {},
    onCorruption: (error) => {
      throw error
    },
  })

const EVER = { from: '', mode: null } as const
const sum = (list: readonly { readonly count: number }[]) =>
  list.reduce((total, { count }) => total + count, 0)

describeEngines(ENGINES, ({ createPlace }) => {
  it('counts every outcome that the audit log holds, and nothing else, in each span', async () => {
    const store = await (await createPlace()).open()
    const [one, two] = [await openLog(store), await openLog(store)]
    const written: AuditEntry[] = []
    await fc.assert(
      fc.asyncProperty(fc.array(anEntry, { minLength: 1, maxLength: 20 }), async (entries) => {
        await Promise.all(entries.map((entry, index) => (index % 2 ? one : two).record([entry])))
        written.push(...entries)
        const outcomes = written.filter(({ phase }) => phase === 'outcome')
        for (const span of ['minute', 'hour', 'day'] as const) {
          const counts = await store.statistics.outcomes({ span, ...EVER })
          for (const outcome of OUTCOMES)
            expect(sum(counts.filter((each) => each.outcome === outcome))).toBe(
              outcomes.filter((each) => each.outcome === outcome).length,
            )
        }
        const live = await store.statistics.outcomes({ span: 'day', from: '', mode: 'live' })
        expect(sum(live)).toBe(outcomes.filter(({ mode }) => mode === 'live').length)
        const sources = await store.statistics.bySource({ span: 'hour', ...EVER })
        expect(sum(sources.filter(({ name }) => name === 'sandbox'))).toBe(
          outcomes.filter(({ sources: tried }) => tried?.includes('sandbox')).length,
        )
        const keys = await store.statistics.byKey({ span: 'hour', ...EVER }, 10)
        expect(sum(keys)).toBe(outcomes.length)
      }),
      { numRuns: 15 },
    )
    await Promise.all([one.close(), two.close()])
    await store.close()
  })

  it('writes no statistics where the rows of the audit log cannot be written', async () => {
    const store = await (await createPlace()).open()
    const log = await openLog(store)
    await log.record([{ phase: 'outcome', outcome: 'verified', mode: 'test' }])
    const head = await store.audit.head((await store.audit.chains())[0]?.chain ?? '')
    const chain = (await store.audit.chains())[0]?.chain ?? ''
    // The same place in the chain again: the database refuses it.
    const rows = linkEntries(chain, EMPTY_HEAD, [{ phase: 'outcome', outcome: 'verified', mode: 'test' }])
    expect(head?.sequence).toBe(1)
    await expect(
      store.audit.append({ rows: store.audit.packRows(rows), tallies: tallyRows(rows) }),
    ).rejects.toThrow()
    expect(sum(await store.statistics.outcomes({ span: 'day', ...EVER }))).toBe(1)
    await log.close()
    await store.close()
  })

  it('tells the last failures with how often they happened, and when a key was used', async () => {
    const store = await (await createPlace()).open()
    const log = await openLog(store)
    const entry = { phase: 'outcome', operation: 'verify_nin', mode: 'live', key_id: 'keyA' }
    const at = (minute: string) => `2026-11-15T08:${minute}:00.000Z`
    await log.record([
      { ...entry, outcome: 'source_timeout', request_reference: 'ver_1', time: at('01') },
      { ...entry, outcome: 'source_timeout', request_reference: 'ver_2', time: at('02') },
      { ...entry, outcome: 'verified', request_reference: 'ver_3', time: at('03') },
      { ...entry, key_id: 'keyB', outcome: 'internal_error', request_reference: 'ver_4', time: at('04') },
    ])
    const stretch = { span: 'hour', from: '2026-11-15T08', mode: null } as const
    expect(await store.statistics.lastErrors(stretch, 10)).toEqual([
      {
        at: at('04'),
        operation: 'verify_nin',
        outcome: 'internal_error',
        key_id: 'keyB',
        reference: 'ver_4',
        count: 1,
      },
      {
        at: at('02'),
        operation: 'verify_nin',
        outcome: 'source_timeout',
        key_id: 'keyA',
        reference: 'ver_2',
        count: 2,
      },
    ])
    expect(await store.statistics.byKey(stretch, 1)).toEqual([{ name: 'keyA', count: 3, failed: 2 }])
    const usage = await store.statistics.usageByKey('2026-11-01')
    expect(usage.toSorted((a, b) => a.key_id.localeCompare(b.key_id))).toEqual([
      { key_id: 'keyA', verifications: 3, last_hour: '2026-11-15T08' },
      { key_id: 'keyB', verifications: 1, last_hour: '2026-11-15T08' },
    ])
    // Minutes and hours go; days stay.
    await store.statistics.deleteExpired({ minute: '2026-12', hour: '2026-12', day: '2026-11-15' })
    expect(await store.statistics.outcomes({ span: 'hour', ...EVER })).toEqual([])
    expect(sum(await store.statistics.outcomes({ span: 'day', ...EVER }))).toBe(4)
    expect((await store.statistics.usageByKey('2026-11-15'))[0]?.last_hour).toBe('2026-11-15T08')
    await store.statistics.deleteExpired({ minute: '2026-12', hour: '2026-12', day: '2026-11-16' })
    expect(await store.statistics.outcomes({ span: 'day', ...EVER })).toEqual([])
    await log.close()
    await store.close()
  })

  it('adds up latencies, and keeps those that could not be written', async () => {
    const store = await (await createPlace()).open()
    let isAway = true
    const latencies = createLatencies(
      {
        addLatencies: (counts) =>
          isAway ? Promise.reject(new Error('away')) : store.statistics.addLatencies(counts),
      },
      'node',
    )
    latencies.count('live', 3)
    await latencies.flush()
    isAway = false
    latencies.count('live', 3)
    latencies.count('test', 900)
    await latencies.flush()
    latencies.count('live', 3)
    await latencies.close()
    const read = (mode: string | null) => store.statistics.latencies({ span: 'day', from: '', mode })
    expect(await read('live')).toEqual([{ class: toClass(3), count: 3 }])
    expect(sum(await read(null))).toBe(4)
    await store.close()
  })
})

afterEach(() => void vi.useRealTimers())

it('writes what was counted while the store was away under the minute in which it was counted', async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.parse('2026-11-16T22:59:30Z') })
  let isAway = true
  const written: unknown[] = []
  const write = async (counts: readonly { span: string; at: string; count: number }[]) => {
    if (isAway) throw new Error('away')
    for (const { span, at, count } of counts) written.push(`${span} ${at} ${count}`)
  }
  const latencies = createLatencies({ addLatencies: write }, 'node')
  const calls = createSourceCalls({ add: write }, 'node')
  const call = { source: 'dojah', operation: 'verify_nin', result: 'answered', ms: 3, kobo: 100 } as const
  for (const _ of [1, 2]) {
    for (const each of [1, 2]) latencies.count('live', each === 1 ? 3 : 3.01)
    for (const each of [call, call]) calls.count(each)
    await Promise.all([latencies.flush(), calls.flush()])
    vi.setSystemTime(Date.now() + 60_000)
  }
  isAway = false
  const expected = [
    'minute 2026-11-16T22:59 2',
    'hour 2026-11-16T22 2',
    'day 2026-11-16 2',
    'minute 2026-11-16T23:00 2',
    'hour 2026-11-16T23 2',
    'day 2026-11-17 2',
  ]
  for (const each of [latencies, calls]) {
    await each.close()
    expect(written.splice(0)).toEqual(expected)
    await each.flush()
    expect(written).toEqual([])
  }
})

describe('the classes of latency', () => {
  it('put every time between the bounds of its class', () => {
    fc.assert(
      fc.property(fc.double({ min: 0.3, max: 50_000, noNaN: true }), (ms) => {
        const latencyClass = toClass(ms)
        expect(ms).toBeLessThanOrEqual(toBoundMs(latencyClass) * 1.000001)
        expect(ms).toBeGreaterThan(toBoundMs(latencyClass - 1) * 0.999999)
      }),
    )
  })
  it('estimate a percentile to within a class of the true one', () => {
    const times = fc.array(fc.double({ min: 0.3, max: 20_000, noNaN: true }), {
      minLength: 1,
      maxLength: 200,
    })
    fc.assert(
      fc.property(times, fc.constantFrom(0.5, 0.95, 0.99), (list, part) => {
        const counts = Object.entries(Object.groupBy(list, (ms) => String(toClass(ms)))).map(
          ([name, group = []]) => ({
            class: Number(name),
            count: group.length,
          }),
        )
        const truth = list.toSorted((a, b) => a - b)[Math.max(Math.ceil(part * list.length) - 1, 0)] as number
        const estimate = estimatePercentile(counts, part) as number
        expect(Math.abs(toClass(estimate) - toClass(truth))).toBeLessThanOrEqual(1)
      }),
    )
    expect(estimatePercentile([], 0.5)).toBeUndefined()
  })
})

describe('the steps of a range', () => {
  it.each(RANGES)('of a %s have no holes, and end now', (range) => {
    const now = Date.parse('2026-03-01T00:00:30.000Z')
    const period = toPeriod(range, now)
    const steps = toSteps(period, [{ at: period.names[0] ?? '', outcome: 'verified', count: 2 }])
    const stepSeconds = toStepSeconds(period)
    expect(steps[0]).toMatchObject({ verified: 2, not_verified: 0, failed: 0 })
    for (const [index, { at }] of steps.entries())
      if (index > 0) expect(Date.parse(at) - Date.parse(steps[index - 1]?.at ?? '')).toBe(stepSeconds * 1000)
    const last = Date.parse(steps.at(-1)?.at ?? '')
    expect(last).toBeLessThanOrEqual(now)
    expect(last + stepSeconds * 1000).toBeGreaterThan(now)
  })
  it('of a month are days in Lagos, which begin an hour before those of UTC', () => {
    const now = Date.parse('2026-03-01T23:30:00.000Z')
    expect(toSpanName('day', '2026-03-01T22:59:59.999Z')).toBe('2026-03-01')
    expect(toSpanName('day', '2026-03-01T23:00:00.000Z')).toBe('2026-03-02')
    expect(toSteps(toPeriod('month', now), []).at(-1)?.at).toBe('2026-03-01T23:00:00.000Z')
  })
  it('are kept at least as long as they are shown', () => {
    const now = Date.now()
    const { minute, hour, day } = toFirstKept(now, 62 * DAY_MS)
    const startOf = (range: 'hour' | 'week' | 'month') => toPeriod(range, now).names[0] ?? ''
    expect(minute < startOf('hour')).toBe(true)
    expect(hour < startOf('week')).toBe(true)
    expect(day < startOf('month')).toBe(true)
  })
  it("of a range of one's own are as fine as they are kept", () => {
    const now = Date.parse('2026-03-31T12:30:30.000Z')
    const bounds = (from: string, to: string) => {
      const period = toCustomPeriod(Date.parse(from), Date.parse(to), now)
      return period && [period.span, period.names.length, ...Object.values(toBounds(period))]
    }
    expect(bounds('2026-03-31T12:00:00Z', '2026-03-31T12:10:00Z')).toEqual([
      'minute',
      10,
      '2026-03-31T12:00:00.000Z',
      '2026-03-31T12:10:00.000Z',
    ])
    expect(bounds('2026-03-29T23:00:00Z', '2026-03-31T23:00:00Z')).toEqual([
      'hour',
      38,
      '2026-03-29T23:00:00.000Z',
      '2026-03-31T13:00:00.000Z',
    ])
    expect(bounds('2025-12-31T23:00:00Z', '2026-01-31T23:00:00Z')).toEqual([
      'day',
      31,
      '2025-12-31T23:00:00.000Z',
      '2026-01-31T23:00:00.000Z',
    ])
    expect(bounds('1970-01-01T00:00:00Z', '2026-01-31T23:00:00Z')).toBeUndefined()
    expect(bounds('2027-01-01T00:00:00Z', '2027-01-02T00:00:00Z')?.[1]).toBe(1)
  })
  it('of the period before are as many and end where the period begins, if they are kept', () => {
    const now = Date.parse('2026-03-31T12:30:30.000Z')
    const firstKept = toFirstKept(now, 800 * DAY_MS)
    for (const range of RANGES) {
      const period = toPeriod(range, now)
      const before = toPeriodBefore(period, firstKept)
      expect(before?.names.length).toBe(period.names.length)
      expect(before && toBounds(before).to).toBe(toBounds(period).from)
    }
    const old = toCustomPeriod(now - 2.5 * 60 * 60_000, now, now)
    expect(old && toPeriodBefore(old, firstKept)).toBeUndefined()
  })
})
