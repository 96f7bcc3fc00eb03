import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { AuditFilter } from '../../src/audit/audit-filter.ts'
import { indexSubjects } from '../../src/audit/index-subjects.ts'
import type { ScanPosition } from '../../src/audit/reverse-scan.ts'
import { type AuditEntry, EMPTY_HEAD, linkEntries } from '../../src/audit/row.ts'
import { SEARCH_LIMITS, type SearchPage, searchAudit } from '../../src/audit/search.ts'
import type { Store } from '../../src/context/store.ts'
import type { AuditRow, LoggedRow } from '../../src/ledger/audit-row.ts'
import { describeEngines, POSTGRES, SQLITE } from '../engines.ts'
import { createRandom } from './random.ts'

type AuditPage = SearchPage<LoggedRow>

const START = Date.parse('2026-03-01T00:00:00.000Z')
const PHASES = ['intent', 'outcome', 'key_created'] as const
const LIMITS = { page: 7, looks: 1_000_000, indexed: 20 }
const nameOf = ({ chain, sequence }: AuditRow) => `${chain} ${sequence}`
const timeOf = (minutes: number) => new Date(START + minutes * 60_000).toISOString()

/** Many rows share a time, with rows of the same chain and of others; some are older than the row before them. */
function toEntries(count: number, seed: number): AuditEntry[] {
  const { below } = createRandom(seed)
  let at = START
  return Array.from({ length: count }, (_none, index) => {
    at += below(4) * 1000
    const late = below(10) === 0 ? below(51) * 1000 : 0
    return {
      time: new Date(at - late).toISOString(),
      phase: PHASES[index % 3] ?? '',
      request_reference: `ver_${seed}_${Math.floor(index / 3)}`,
      key_id: `key${below(4)}`,
      subject: below(2) === 0 ? 'often' : `rare${below(21)}`,
      outcome: index % 3 === 1 ? 'verified' : null,
      operation: below(2) === 0 ? 'verify_nin' : 'verify_bvn',
      consent_reference: `consent ${below(3)}`,
      sources: JSON.stringify([{ name: below(2) === 0 ? 'dojah' : 'registry', result: 'found', ms: 3 }]),
    }
  })
}

/** So that a condition that is ignored by the test is noticed. */
const hasMatches = ({ key_ids, from, to }: AuditFilter) =>
  !key_ids?.includes('nobody') && (to ?? '~') >= timeOf(0) && (from ?? '') <= timeOf(100)

/** All pages to the end, in order. */
async function readAll(store: Store, filter: AuditFilter, limits = LIMITS): Promise<AuditPage[]> {
  const pages: AuditPage[] = []
  let next: ScanPosition | undefined
  do {
    const page = await searchAudit(store.audit, filter, next, limits)
    pages.push(page)
    next = page.next
    // A search that repeats a page fails instead of looping for ever.
  } while (next && pages.length < 1000)
  return pages
}

const rowsOf = (pages: readonly AuditPage[]) => pages.flatMap(({ found }) => found)

describeEngines([SQLITE, POSTGRES], (engine) => {
  let store: Store
  const written: AuditRow[] = []
  beforeAll(async () => {
    store = await (await engine.createPlace()).open()
    for (const [index, chain] of ['node-1', 'node-2', 'other-1', 'empty-1'].entries()) {
      await store.audit.claim(chain, null, 'test', START)
      if (chain === 'empty-1') continue
      const rows = linkEntries(chain, EMPTY_HEAD, toEntries(160 - index * 45, index))
      await store.audit.append({ rows: store.audit.packRows(rows) })
      written.push(...rows)
      // The first rows of each chain are in blocks, the others are not.
      if (chain === 'node-2') await indexSubjects(store.subjects, { blockRows: 40 })
    }
  })
  afterAll(() => store.close())

  describe('a search', () => {
    it('finds every row once, page after page', async () => {
      const pages = await readAll(store, {})
      const names = rowsOf(pages).map(nameOf)
      expect(new Set(names).size).toBe(names.length)
      expect(names.toSorted()).toEqual(written.map(nameOf).toSorted())
      expect(pages.slice(0, -1).every(({ found }) => found.length === LIMITS.page)).toBe(true)
    })

    it('gives the same rows in the same order, whatever the size of a page', async () => {
      const names = rowsOf(await readAll(store, {})).map(nameOf)
      for (const page of [3, 50, 1000])
        expect(rowsOf(await readAll(store, {}, { ...LIMITS, page })).map(nameOf)).toEqual(names)
    })

    it('keeps the order of each chain, and merges chains by time', async () => {
      const rows = rowsOf(await readAll(store, {}))
      for (const chain of ['node-1', 'node-2', 'other-1']) {
        const sequences = rows.filter((row) => row.chain === chain).map(({ sequence }) => sequence)
        expect(sequences).toEqual(sequences.toSorted((one, other) => other - one))
      }
      let youngestSoFar = Number.POSITIVE_INFINITY
      for (const { time } of rows) {
        expect(Date.parse(time)).toBeLessThanOrEqual(youngestSoFar + 60_000)
        youngestSoFar = Math.min(youngestSoFar, Date.parse(time))
      }
    })

    it.each<AuditFilter>([
      { key_ids: ['key1'] },
      { key_ids: ['key1', 'key3'] },
      { outcome: 'verified', key_ids: ['key2'] },
      { outcome: 'none', key_ids: ['key2'] },
      { operation: 'verify_bvn' },
      { source: 'dojah' },
      { consent_reference: 'consent 2', source: 'registry' },
      { phase: 'key_created' },
      { subject: 'often' },
      { subject: 'rare3' },
      { subject: 'rare3', phase: 'outcome' },
      { request_reference: 'ver_1_4' },
      { request_reference: 'ver_1_4', key_ids: ['nobody'] },
      { from: timeOf(2), to: timeOf(4) },
      { to: timeOf(3), subject: 'often' },
      { from: timeOf(3), phase: 'intent' },
      { to: timeOf(-1) },
      { from: timeOf(1000) },
    ])('finds the same rows as a full scan: %j', async (filter) => {
      const { from = '', to = '~', key_ids, source = '', outcome, ...same } = filter
      const expected = written.filter(
        (row) =>
          row.time >= from &&
          row.time <= to &&
          (!key_ids || key_ids.includes(String(row.key_id))) &&
          (outcome === undefined || (row.outcome ?? 'none') === outcome) &&
          (row.sources ?? '').includes(source) &&
          Object.entries(same).every(([name, value]) => row[name as keyof AuditRow] === value),
      )
      expect(expected.length > 0).toBe(hasMatches(filter))
      const found = rowsOf(await readAll(store, filter))
      expect(found.map(nameOf).toSorted()).toEqual(expected.map(nameOf).toSorted())
    })

    it('reads no more rows than its limit, returns its position, and continues from there', async () => {
      const limits = { ...LIMITS, looks: 10 }
      const first = await searchAudit(store.audit, { phase: 'no_such_phase' }, undefined, limits)
      expect(first).toMatchObject({
        found: [],
        isCut: true,
        looked: 10,
        next: { sequence: expect.any(Number) },
      })
      const pages = await readAll(store, { key_ids: ['key1'] }, limits)
      expect(pages.some(({ isCut }) => isCut)).toBe(true)
      const expected = written.filter(({ key_id }) => key_id === 'key1')
      expect(rowsOf(pages).map(nameOf).toSorted()).toEqual(expected.map(nameOf).toSorted())
    })

    it('ends in an empty log', async () => {
      const empty = await (await engine.createPlace()).open()
      expect(await searchAudit(empty.audit, {})).toEqual({
        found: [],
        next: undefined,
        isCut: false,
        looked: 0,
      })
      await empty.close()
    })

    it('reads only what it needs of a long chain', async () => {
      let read = 0
      const counting = {
        ...store.audit,
        pageBack: async (chain: string, before: number, most: number) => {
          const rows = await store.audit.pageBack(chain, before, most)
          read += rows.length
          return rows
        },
      }
      const { found } = await searchAudit(counting, { to: timeOf(3) }, undefined, {
        ...SEARCH_LIMITS,
        page: 5,
      })
      expect(found).toHaveLength(5)
      expect(read).toBeLessThanOrEqual(3 * 64)
    })
  })
})
