import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Chain } from '../../src/audit/audit-chains.ts'
import { compareAge } from '../../src/audit/audit-filter.ts'
import { type ReverseScanTable, scanBackwards, toComparable } from '../../src/audit/reverse-scan.ts'
import type { LoggedRow } from '../../src/ledger/audit-row.ts'

const BASE = Date.UTC(2026, 10, 17)
const at = (ms: number) => new Date(BASE + ms).toISOString()

type Given = { readonly chain: string; readonly times: readonly number[] } & Partial<Chain>

/** Chains in memory, which note how many pages were read of each. */
function toTable(given: readonly Given[]) {
  const pages = new Map<string, number>()
  const rows = new Map(
    given.map(({ chain, times }) => [
      chain,
      times.map((ms, index) => ({ chain, sequence: index + 1, time: at(ms) }) as LoggedRow),
    ]),
  )
  const of = (chain: string) => rows.get(chain) ?? []
  const table: ReverseScanTable = {
    chains: async () =>
      given.map(({ times: _, ...chain }) => ({
        ...{ owner: null, beatAt: 0, isRetired: false, retiredAt: undefined, isArchived: false },
        ...chain,
      })),
    head: async (chain) => of(chain).at(-1) as never,
    pageBack: async (chain, before, most) => {
      pages.set(chain, (pages.get(chain) ?? 0) + 1)
      return of(chain)
        .filter(({ sequence }) => sequence < before)
        .toReversed()
        .slice(0, most)
    },
    timeFrom: async (chain, sequence) => of(chain).find((row) => row.sequence >= sequence) as never,
    lastUntil: async (chain, { from, before }, time) =>
      of(chain).findLast((row) => row.sequence >= from && row.sequence < before && row.time <= time)
        ?.sequence,
  }
  return { table, pages, rows: [...rows.values()].flat() }
}

const nameOf = ({ chain, sequence }: Pick<LoggedRow, 'chain' | 'sequence'>) => `${chain}${sequence}`
async function scan(
  table: ReverseScanTable,
  range: Parameters<typeof scanBackwards>[1] = {},
  most = Infinity,
) {
  const steps: { name: string; time: string; position: { time: string; chain: string; sequence: number } }[] =
    []
  for await (const { row, position } of scanBackwards(table, range)) {
    steps.push({ name: nameOf(row), time: row.time, position })
    if (steps.length >= most) break
  }
  return steps
}
const names = async (...args: Parameters<typeof scan>) => (await scan(...args)).map(({ name }) => name)

describe('a scan of all chains', () => {
  it('gives every row once, the newest first', async () => {
    const { table, rows } = toTable([
      { chain: 'a', times: [0, 10, 10, 30] },
      { chain: 'b', times: [5, 10, 40] },
      { chain: 'c', times: [] },
    ])
    expect(await names(table)).toEqual(rows.toSorted(compareAge).map(nameOf))
    expect(await names(table)).toEqual(['b3', 'a4', 'b2', 'a3', 'a2', 'b1', 'a1'])
  })

  it('continues after any of its positions', async () => {
    const times = fc
      .array(fc.nat(20), { maxLength: 12 })
      .map((list) => list.toSorted((one, other) => one - other))
    await fc.assert(
      fc.asyncProperty(times, times, times, async (one, two, three) => {
        const { table } = toTable([
          { chain: 'a', times: one },
          { chain: 'b', times: two },
          { chain: 'c', times: three },
        ])
        const all = await scan(table)
        for (const [index, { position }] of all.entries())
          expect(await names(table, { before: position })).toEqual(
            all.slice(index + 1).map(({ name }) => name),
          )
      }),
      { numRuns: 40 },
    )
  })

  it('reads a chain of many rows in pages that grow', async () => {
    const { table, pages } = toTable([
      { chain: 'a', times: Array.from({ length: 2000 }, (_, index) => index) },
    ])
    expect(await names(table, {}, 64)).toHaveLength(64)
    expect(pages.get('a')).toBe(1)
    expect(await scan(table)).toHaveLength(2000)
    // 64, 128, 256, 512, 512, 512, 16 and the end.
    expect(pages.get('a')).toBe(1 + 8)
  })

  it('begins at the last row that is not later than a time', async () => {
    const times = Array.from({ length: 12_000 }, (_, index) => index * 100)
    const { table, pages } = toTable([{ chain: 'a', times }])
    expect(await names(table, { to: at(500_000) }, 2)).toEqual(['a5001', 'a5000'])
    expect(await names(table, { to: at(500_099) }, 1)).toEqual(['a5001'])
    expect(await names(table, { to: at(-1) })).toEqual([])
    expect(await names(table, { to: at(0) })).toEqual(['a1'])
    expect(pages.get('a')).toBeLessThan(8)
  })

  it('finds rows that are earlier than the row before them, up to a minute', async () => {
    const { table } = toTable([{ chain: 'a', times: [0, 60_000, 1, 2, 120_000] }])
    expect(await names(table, { to: at(1) })).toEqual(['a3', 'a2', 'a1'])
    expect(await names(table, { from: at(60_001) })).toEqual(['a5', 'a4', 'a3', 'a2'])
  })

  it('stops at a time, with the minute by which rows may be out of order', async () => {
    const { table } = toTable([{ chain: 'a', times: [0, 1, 60_000, 60_001, 200_000] }])
    expect(await names(table, { from: at(60_001) })).toEqual(['a5', 'a4', 'a3', 'a2'])
    expect(await names(table, { from: at(200_000) })).toEqual(['a5'])
  })

  it('does not move its position back for a row that is out of order', async () => {
    const { table } = toTable([{ chain: 'a', times: [5, 50, 10] }])
    expect((await scan(table)).map(({ position }) => [position.time, position.sequence])).toEqual([
      [at(10), 3],
      [at(10), 2],
      [at(5), 1],
    ])
  })
})

describe('chains that have ended', () => {
  it('are not read before the scan has come to their end', async () => {
    const { table, pages } = toTable([
      { chain: 'old', times: [0, 10], isRetired: true, retiredAt: BASE + 10 },
      { chain: 'new', times: [200_000, 300_000] },
    ])
    expect(await names(table, {}, 1)).toEqual(['new2'])
    expect([...pages.keys()]).toEqual(['new'])
    expect(await names(table)).toEqual(['new2', 'new1', 'old2', 'old1'])
    pages.clear()
    expect(await names(table, { from: at(130_000) })).toEqual(['new2', 'new1'])
    expect([...pages.keys()]).toEqual(['new'])
    // Ended by the minute at most.
    expect(await names(table, { from: at(120_010) })).toEqual(['new2', 'new1'])
    expect(pages.has('old')).toBe(true)
  })

  it('of a later month are not read at all', async () => {
    const { table, pages } = toTable([
      { chain: 'y2026m11-a-1', times: [0] },
      { chain: 'y2026m12-b-1', times: [15 * 86_400_000] },
    ])
    expect(await names(table, { to: at(1000) })).toEqual(['y2026m11-a-11'])
    expect(pages.has('y2026m12-b-1')).toBe(false)
    expect(await names(table)).toEqual(['y2026m12-b-11', 'y2026m11-a-11'])
  })

  it('and are archived are left out', async () => {
    const { table } = toTable([
      { chain: 'a', times: [0], isArchived: true },
      { chain: 'b', times: [1] },
    ])
    expect(await names(table)).toEqual(['b1'])
  })
})

it('times are compared as texts, so that years have four digits', () => {
  expect(toComparable(BASE)).toBe('2026-11-17T00:00:00.000Z')
  expect(toComparable(Number.MAX_SAFE_INTEGER)).toBe('9999-12-31T23:59:59.999Z')
  expect(toComparable(-Number.MAX_SAFE_INTEGER)).toBe('0000-01-01T00:00:00.000Z')
})
