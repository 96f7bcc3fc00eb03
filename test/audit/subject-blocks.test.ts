import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { indexSubjects } from '../../src/audit/index-subjects.ts'
import { type AuditEntry, EMPTY_HEAD, linkEntries } from '../../src/audit/row.ts'
import { findInPage, toBucket, toKeys, toPages } from '../../src/audit/subject-blocks.ts'
import type { Store } from '../../src/context/store.ts'
import type { AuditRow } from '../../src/ledger/audit-row.ts'
import { describeEngines, ENGINES } from '../engines.ts'
import { createRandom } from './random.ts'

it('the key of a row is its bucket and the next six bytes, and stays so: blocks on disk have it', () => {
  const rows = [
    { sequence: 5, subject: '0123456789abcdefffff' },
    { sequence: 7, subject: 'no hash' },
  ]
  const hashed = createHash('sha256').update('no hash').digest('hex').slice(0, 14)
  expect(Buffer.from(toKeys(rows, 5)).toString('hex')).toBe(`010123456789abcd${'00'.repeat(8)}01${hashed}`)
})

const random = createRandom(7)
/** Some people share a bucket, and some of these the whole prefix; a subject that is no hash is allowed. */
const SUBJECTS = [
  ...Array.from({ length: 30 }, (_none, index) => index.toString(16).padStart(2, '0').repeat(32)),
  ...['1', '2', '3'].map((end) => `00000000000000${end.repeat(50)}`),
  'plain text',
]
const pickSubject = () => (random.below(6) === 0 ? null : random.pick(SUBJECTS))
const nameOf = ({ chain, sequence }: AuditRow) => `${chain} ${sequence}`

describe('a block', () => {
  it('lists the rows of a subject, also those that share its prefix, and no others', () => {
    const rows = Array.from({ length: 10_000 }, (_none, index) => ({
      sequence: 40_001 + index,
      subject: random.pick(SUBJECTS),
    }))
    const pages = new Map(toPages(toKeys(rows, 40_001)))
    for (const subject of SUBJECTS) {
      const isSame = (other: string) => other.slice(0, 14) === subject.slice(0, 14)
      const expected = rows.flatMap((row) => (isSame(row.subject) ? [row.sequence] : []))
      expect(findInPage(pages.get(toBucket(subject)) ?? Buffer.alloc(0), subject, 40_001)).toEqual(expected)
    }
  })

  it('does not find a prefix that begins in the middle of an entry', () => {
    const [[, entries] = [0, Buffer.alloc(0)]] = toPages(
      toKeys([{ sequence: 1, subject: 'aa'.repeat(32) }], 1),
    )
    const doubled = Buffer.concat([entries, entries])
    // Six bytes at an odd place: the end of one entry and the beginning of the next.
    const straddling = `aa${doubled.subarray(4, 10).toString('hex')}`.padEnd(64, '0')
    expect(findInPage(doubled, straddling, 1)).toEqual([])
  })
})

describeEngines(ENGINES, (engine) => {
  let store: Store
  let other: Store
  const written: AuditRow[] = []
  const heads = new Map<string, AuditRow>()
  beforeAll(async () => {
    const place = await engine.createPlace()
    store = await place.open()
    other = await place.open()
    for (const chain of ['node-1', 'node-2', 'other-1', 'empty-1'])
      await store.audit.claim(chain, null, 'test', Date.now())
  })
  afterAll(async () => {
    await store.close()
    await other.close()
  })

  async function write(chain: string, count: number): Promise<void> {
    const entries: AuditEntry[] = Array.from({ length: count }, () => ({
      phase: 'outcome',
      subject: pickSubject(),
    }))
    const rows = linkEntries(chain, heads.get(chain) ?? EMPTY_HEAD, entries)
    await store.audit.append({ rows: store.audit.packRows(rows) })
    written.push(...rows)
    heads.set(chain, rows.at(-1) as AuditRow)
  }

  async function expectAllFound(): Promise<void> {
    for (const subject of [...SUBJECTS, 'ff'.repeat(32)]) {
      const expected = written.filter((row) => row.subject === subject).map(nameOf)
      const found = await store.audit.bySubject(subject)
      expect(found.map(nameOf).toSorted()).toEqual(expected.toSorted())
      expect(found.map(({ time }) => time)).toEqual(found.map(({ time }) => time).toSorted())
      const few = await store.audit.bySubject(subject, 3)
      expect(few.length).toBeGreaterThanOrEqual(Math.min(3, expected.length))
    }
  }

  const index = (from = store) => indexSubjects(from.subjects, { blockRows: 50, leastRows: 10 })
  const listBlocks = () =>
    store.database
      .prepare('SELECT chain, first_sequence, last_sequence FROM audit_subject_blocks ORDER BY 1, 2')
      .all()

  it('a fresh database has no index on the subject', async () => {
    const sql =
      store.database.dialect === 'sqlite'
        ? "SELECT name FROM sqlite_schema WHERE name = 'audit_subject'"
        : "SELECT relname FROM pg_class WHERE relname = 'audit_subject'"
    expect(await store.database.prepare(sql).all()).toEqual([])
  })

  it('rows are found before there is a block, and when only full blocks are written', async () => {
    await write('node-1', 130)
    await write('node-2', 49)
    await write('other-1', 250)
    await expectAllFound()
    expect(await index()).toBe(7)
    await expectAllFound()
    expect(await index()).toBe(0)
  })

  it('a person who is in more blocks than are read at once is found in all of them', async () => {
    const subject = 'ee'.repeat(32)
    const count = 450
    await store.audit.claim('many-1', null, 'test', Date.now())
    const entries = Array.from({ length: count }, (): AuditEntry => ({ phase: 'outcome', subject }))
    const rows = linkEntries('many-1', EMPTY_HEAD, entries)
    await store.audit.append({ rows: store.audit.packRows(rows) })
    await indexSubjects(store.subjects, { blockRows: 1, leastRows: 1 })
    const blocks = (await listBlocks()).filter(({ chain }) => chain === 'many-1')
    expect(blocks).toHaveLength(count)
    const found = await store.audit.bySubject(subject)
    expect(found.map(({ sequence }) => sequence).toSorted((one, other) => one - other)).toEqual(
      rows.map(({ sequence }) => sequence),
    )
  })

  it('rows are found in blocks, and after the last block', async () => {
    for (let round = 0; round < 6; round++) {
      await write(random.pick(['node-1', 'node-2', 'other-1']), 1 + random.below(70))
      if (round % 2 === 0) await index()
      await expectAllFound()
    }
  })

  it('two nodes that index at once write every block once', async () => {
    await write('node-1', 500)
    await write('other-1', 300)
    const before = (await listBlocks()).length
    const counts = await Promise.all([index(), index(other)])
    await index()
    expect((await listBlocks()).length - before).toBeGreaterThanOrEqual(Math.max(...counts))
    await expectAllFound()
    for (const { chain, head, indexed } of await store.subjects.chains()) {
      const blocks = (await listBlocks()).filter((block) => block.chain === chain)
      let next = 1
      for (const { first_sequence, last_sequence } of blocks) {
        expect(Number(first_sequence)).toBe(next)
        next = Number(last_sequence) + 1
      }
      expect([indexed, head - indexed < 50]).toEqual([next - 1, true])
    }
  })

  it('the pages of a block that cannot be written leave no block', async () => {
    const { indexed } = (await store.subjects.chains()).find(({ chain }) => chain === 'node-2') ?? {
      indexed: 0,
    }
    const page = [1, Buffer.alloc(8)] as const
    const block = { chain: 'node-2', first: indexed + 1, last: indexed + 10, pages: [page, page] }
    await expect(store.subjects.insertBlock(block)).rejects.toThrow()
    await expectAllFound()
    expect(await store.subjects.insertBlock({ ...block, chain: 'nobody-1', pages: [page] })).toBe(true)
    expect(await store.subjects.insertBlock({ ...block, chain: 'nobody-1', pages: [page] })).toBe(false)
  })

  it('a chain that no process extends gets a block for a few rows', async () => {
    const countTail = async () => {
      const found = (await store.subjects.chains()).find(({ chain }) => chain === 'node-2')
      return found && found.head - found.indexed
    }
    await write('node-2', 62 - ((await countTail()) ?? 0))
    await index()
    expect(await countTail()).toBe(12)
    await store.audit.release('node-2', 'test', Date.now())
    await index()
    expect(await countTail()).toBe(0)
    await expectAllFound()
  })
})
