import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { AuditFilter } from '../../src/audit/audit-filter.ts'
import { indexSubjects } from '../../src/audit/index-subjects.ts'
import type { ScanPosition } from '../../src/audit/reverse-scan.ts'
import { type AuditEntry, EMPTY_HEAD, linkEntries } from '../../src/audit/row.ts'
import type { SearchPage } from '../../src/audit/search.ts'
import { findTimelines, searchTimelines, type Timeline } from '../../src/audit/search-timelines.ts'
import type { Store } from '../../src/context/store.ts'
import { describeEngines, POSTGRES, SQLITE } from '../engines.ts'
import { createRandom } from './random.ts'

const START = Date.parse('2026-03-01T00:00:00.000Z')
const CHAINS = ['node-1', 'node-2', 'other-1'] as const
const LIMITS = { page: 7, looks: 1_000_000, indexed: 20 }
const timeOf = (seconds: number) => new Date(START + seconds * 1000).toISOString()

/** A verification as the test knows it, and its rows with the chain that each is written to. */
type Sample = {
  readonly reference: string
  readonly key: string
  readonly operation: string
  readonly subject: string
  readonly consent: string | null
  readonly outcome: string | undefined
  readonly sources: readonly string[]
  readonly rows: readonly (AuditEntry & { readonly time: string; readonly chain: string })[]
}

const toSources = (...names: string[]) =>
  JSON.stringify(names.map((name) => ({ name, result: 'found', ms: 3 })))

type SampleRow = Sample['rows'][number]

/** Local ones, ones that ask a vendor, queued ones with failed attempts, cancelled ones, and ones that never ended. */
const KINDS = ['local', 'vendor', 'queued', 'cancelled', 'open'] as const
const { below, pick } = createRandom(4)

function createSample(index: number): Sample {
  const kind = pick(KINDS)
  const about = {
    request_reference: `ver_${index}`,
    key_id: `key${below(4)}`,
    operation: pick(['verify_nin', 'verify_bvn']),
    subject: below(3) === 0 ? 'often' : `rare${below(30)}`,
  }
  const consent = below(3) === 0 ? `consent ${below(5)}` : null
  const given = { ...about, consent_reference: consent }
  const outcome = pick(['verified', 'not_verified', 'source_timeout'])
  const isAnswered = kind !== 'cancelled' && kind !== 'open'
  const start = index * 20
  const entries: AuditEntry[] = {
    local: [
      { ...given, phase: 'outcome', outcome, sources: toSources('registry'), started_at: timeOf(start) },
    ],
    vendor: [
      { ...given, phase: 'intent' },
      { ...given, phase: 'outcome', outcome, sources: toSources('registry', 'prembly') },
    ],
    queued: [...toQueued(given), { ...given, phase: 'outcome', outcome, sources: toSources('prembly') }],
    cancelled: [...toQueued(given), { ...about, phase: 'outcome', outcome: 'cancelled' }],
    open: toQueued(given),
  }[kind]
  const replays: AuditEntry[] = below(3) === 0 ? [{ ...given, phase: 'replay', outcome }] : []
  return {
    reference: about.request_reference,
    key: about.key_id,
    operation: about.operation,
    subject: about.subject,
    consent,
    outcome: isAnswered ? outcome : kind === 'cancelled' ? 'cancelled' : undefined,
    sources: entries.flatMap(({ sources }) =>
      (JSON.parse(sources ?? '[]') as { name: string }[]).map(({ name }) => name),
    ),
    rows: [...entries, ...replays].map((entry, step): SampleRow => {
      return { ...entry, time: timeOf(start + step * 3 + below(3)), chain: pick(CHAINS) }
    }),
  }
}

const toQueued = (given: Omit<AuditEntry, 'phase'>): AuditEntry[] => [
  { ...given, phase: 'queued' },
  { ...given, phase: 'attempt', outcome: 'source_timeout', sources: toSources('dojah') },
]

const SAMPLES = Array.from({ length: 220 }, (_none, index) => createSample(index))
const stepsOf = ({ rows }: Sample) => rows.filter(({ phase }) => phase !== 'replay')
const endOf = (sample: Sample) => stepsOf(sample).at(-1)?.time ?? ''

async function readAll(store: Store, filter: AuditFilter, limits = LIMITS): Promise<SearchPage<Timeline>[]> {
  const pages: SearchPage<Timeline>[] = []
  let next: ScanPosition | undefined
  do {
    const page = await searchTimelines(store.audit, filter, next, limits)
    pages.push(page)
    next = page.next
    // A search that repeats a page fails instead of looping for ever.
  } while (next && pages.length < 2000)
  return pages
}

const referencesOf = (pages: readonly SearchPage<Timeline>[]) =>
  pages.flatMap(({ found }) => found.map(({ reference }) => reference))

describeEngines([SQLITE, POSTGRES], (engine) => {
  let store: Store
  beforeAll(async () => {
    store = await (await engine.createPlace()).open()
    const all = SAMPLES.flatMap(({ rows }) => rows).toSorted((one, other) => (one.time < other.time ? -1 : 1))
    for (const chain of CHAINS) {
      await store.audit.claim(chain, null, 'test', START)
      const entries = all.filter((row) => row.chain === chain)
      const others = entries.flatMap((entry, index) =>
        index % 5 === 0 ? [{ phase: 'key_created', time: entry.time }, entry] : [entry],
      )
      const rows = linkEntries(chain, EMPTY_HEAD, others)
      await store.audit.append({ rows: store.audit.packRows(rows) })
    }
    for (const index of [store.subjects, store.consents]) await indexSubjects(index, { blockRows: 40 })
  })
  afterAll(() => store.close())

  describe('a search for verifications', () => {
    it('finds each once, page after page, whatever the size of a page', async () => {
      const references = referencesOf(await readAll(store, {}))
      expect(references.toSorted()).toEqual(SAMPLES.map(({ reference }) => reference).toSorted())
      for (const page of [5, 1000])
        expect(referencesOf(await readAll(store, {}, { ...LIMITS, page }))).toEqual(references)
    })

    it('looks at every row of the log once, from the last to the first', async () => {
      const times: string[] = []
      for await (const { position } of findTimelines(store.audit, {})) times.push(position.time)
      const rows = await store.database.prepare('SELECT COUNT(*) AS rows FROM audit').get()
      expect(times).toHaveLength(Number(rows?.rows))
      expect(times).toEqual(times.toSorted().toReversed())
    })

    it('has the rows of each in order, with its outcome and all its source attempts', async () => {
      const pages = await readAll(store, {})
      for (const timeline of pages.flatMap(({ found }) => found)) {
        const sample = SAMPLES.find(({ reference }) => reference === timeline.reference)
        if (!sample) throw new Error('unknown reference')
        expect(timeline.rows.map(({ phase }) => phase).toSorted()).toEqual(
          sample.rows.map(({ phase }) => phase).toSorted(),
        )
        expect(timeline.outcome ?? undefined).toBe(sample.outcome)
        expect(timeline.sourceAttempts.map(({ name }) => name).toSorted()).toEqual(sample.sources.toSorted())
        expect(timeline.main.time).toBe(endOf(sample))
      }
    })

    const conditions: Readonly<Record<string, readonly [AuditFilter, (sample: Sample) => boolean]>> = {
      key: [{ key_ids: ['key1'] }, ({ key }) => key === 'key1'],
      'two keys': [{ key_ids: ['key1', 'key2'] }, ({ key }) => ['key1', 'key2'].includes(key)],
      'an unknown key': [{ key_ids: ['nobody'] }, () => false],
      operation: [{ operation: 'verify_bvn' }, ({ operation }) => operation === 'verify_bvn'],
      outcome: [{ outcome: 'not_verified' }, ({ outcome }) => outcome === 'not_verified'],
      cancelled: [{ outcome: 'cancelled' }, ({ outcome }) => outcome === 'cancelled'],
      'no outcome': [{ outcome: 'none' }, ({ outcome }) => outcome === undefined],
      'a source of an attempt before the outcome': [
        { source: 'dojah' },
        ({ sources }) => sources.includes('dojah'),
      ],
      'a source of the outcome': [{ source: 'registry' }, ({ sources }) => sources.includes('registry')],
      'consent, also of cancelled ones': [
        { consent_reference: 'consent 2' },
        ({ consent }) => consent === 'consent 2',
      ],
      'a person with many rows': [{ subject: 'often' }, ({ subject }) => subject === 'often'],
      'a person by the index': [{ subject: 'rare3' }, ({ subject }) => subject === 'rare3'],
      reference: [{ request_reference: 'ver_17' }, ({ reference }) => reference === 'ver_17'],
      time: [
        { from: timeOf(500), to: timeOf(2500) },
        (sample) => endOf(sample) >= timeOf(500) && endOf(sample) <= timeOf(2500),
      ],
      all: [
        { key_ids: ['key1', 'key2', 'key3'], source: 'prembly', outcome: 'verified', from: timeOf(900) },
        (sample) =>
          sample.key !== 'key0' &&
          sample.sources.includes('prembly') &&
          sample.outcome === 'verified' &&
          endOf(sample) >= timeOf(900),
      ],
    }

    it.each(Object.keys(conditions))('filters by: %s', async (name) => {
      const [filter, fits] = conditions[name] ?? [{}, () => true]
      const expected = SAMPLES.filter(fits).map(({ reference }) => reference)
      if (!name.includes('unknown')) expect(expected.length).toBeGreaterThan(0)
      expect(referencesOf(await readAll(store, filter)).toSorted()).toEqual(expected.toSorted())
    })

    it('reads no more rows than its limit, and continues from there', async () => {
      const limits = { ...LIMITS, looks: 10 }
      const first = await searchTimelines(store.audit, { key_ids: ['nobody'] }, undefined, limits)
      expect(first).toMatchObject({ found: [], isCut: true, looked: 10, next: { time: expect.any(String) } })
      const pages = await readAll(store, { source: 'prembly' }, limits)
      expect(pages.every(({ looked }) => looked <= 10)).toBe(true)
      const expected = SAMPLES.filter(({ sources }) => sources.includes('prembly'))
      expect(referencesOf(pages).toSorted()).toEqual(expected.map(({ reference }) => reference).toSorted())
    })

    it('ends in an empty log', async () => {
      const empty = await (await engine.createPlace()).open()
      expect(await searchTimelines(empty.audit, {})).toMatchObject({ found: [], next: undefined })
      await empty.close()
    })
  })
})
