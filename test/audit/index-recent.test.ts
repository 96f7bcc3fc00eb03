import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { defineAuditTable } from '../../src/audit/audit-table.ts'
import { makeCheckpoint } from '../../src/audit/checkpoint.ts'
import { indexRecent, indexSubjects, startSubjectIndex } from '../../src/audit/index-subjects.ts'
import { createRecentRows, type RecentRows } from '../../src/audit/recent-rows.ts'
import { EMPTY_HEAD, linkEntries } from '../../src/audit/row.ts'
import { consentTable, type SubjectTable, subjectTable } from '../../src/audit/subject-table.ts'
import { verifyStore } from '../../src/audit/verify/verify-store.ts'
import type { Store } from '../../src/context/store.ts'
import { type Recorded, recordStatements } from '../database/record-statements.ts'
import { describeEngines, ENGINES, newFolder, POSTGRES, SQLITE_WITH_WRITER } from '../engines.ts'
import { newDataDir } from '../process/tabbat.ts'
import { openLog, publicKey, signer } from './old-log.ts'
import { BLOCK, compareSearch, PEOPLE, recordPeople } from './people-rows.ts'

const CHILD = join(import.meta.dirname, 'index-child.ts')

const options = { blockRows: BLOCK }
const tablesOf = ({ subjects, consents }: Store) => [subjects, consents]

async function listBlocks(store: Store): Promise<string[]> {
  const rows = await store.database
    .prepare('SELECT first_sequence, last_sequence FROM audit_subject_blocks ORDER BY chain, first_sequence')
    .all()
  return rows.map((row) => `${row.first_sequence}-${row.last_sequence}`)
}

async function expectAllFound(store: Store): Promise<void> {
  const { found, expected } = await compareSearch(store)
  expect(found).toEqual(expected)
  expect(expected.flat().length).toBeGreaterThan(0)
}

/** Indexes, and returns the statements that read audit rows. */
async function indexCounting(store: Store, recent: RecentRows): Promise<string[]> {
  const recorded: Recorded[] = []
  const database = recordStatements(store.database, recorded)
  const tables = (
    [
      [subjectTable, store.subjects],
      [consentTable, store.consents],
    ] as const
  ).map(([table, { insertBlock }]) => ({ ...table.create(database), insertBlock }))
  await indexRecent(tables, recent, options)
  return recorded.flatMap(({ sql }) => (/ audit\b/.test(sql) ? [sql] : []))
}

describeEngines(ENGINES, (engine) => {
  async function open() {
    const place = await engine.createPlace()
    const folder = newDataDir()
    const store = await place.open()
    onTestFinished(() => store.close())
    const recent = createRecentRows(BLOCK)
    return { place, folder, store, recent, audit: await openLog(store, folder, recent) }
  }

  it('blocks of rows that this process wrote are made without reading one, and the rows are found', async () => {
    const { store, recent, audit } = await open()
    await recordPeople(audit, BLOCK - 1)
    expect(await indexCounting(store, recent)).toEqual([])
    await expectAllFound(store)
    for (let blocks = 1; blocks <= 6; blocks++) {
      await recordPeople(audit, BLOCK)
      await expectAllFound(store)
      expect(await indexCounting(store, recent)).toEqual([])
      expect((await listBlocks(store)).length).toBe(blocks)
      await expectAllFound(store)
    }
    await audit.close()
  })

  it('many rows of one person are read in steps, and no more than were asked for', async () => {
    const { store, audit } = await open()
    const subject = 'ab'.repeat(32)
    await audit.record(Array.from({ length: 4500 }, () => ({ phase: 'outcome', subject })))
    await indexSubjects(store.subjects, { blockRows: 4500 })
    const recorded: Recorded[] = []
    const table = defineAuditTable().create(recordStatements(store.database, recorded))
    expect((await table.bySubject(subject)).length).toBe(4500)
    const steps = recorded.flatMap(({ sql, values }) =>
      / IN \(/.test(sql) ? [(JSON.parse(String(values[1])) as unknown[]).length] : [],
    )
    expect(steps).toEqual([1000, 1000, 1000, 1000, 500])
    expect((await table.bySubject(subject, 1500)).length).toBe(2000)
    await audit.close()
  })

  it('rows are found while a block is written and others arrive', async () => {
    const { store, recent, audit } = await open()
    const { promise: wrote, resolve } = Promise.withResolvers<void>()
    recent.onBlock(() => void indexRecent(tablesOf(store), recent, options).then(resolve))
    const writing = recordPeople(audit, 3 * BLOCK)
    for (const person of PEOPLE) {
      const [before, found] = [recent.end()?.sequence ?? 0, await store.audit.bySubject(person)]
      const rows = await store.audit.page(found[0]?.chain ?? '', 0, 1000)
      const known = rows.filter(({ sequence, subject }) => sequence <= before && subject === person)
      expect(found.map(({ sequence }) => sequence)).toEqual(
        expect.arrayContaining(known.map(({ sequence }) => sequence)),
      )
    }
    await writing
    await wrote
    await indexRecent(tablesOf(store), recent, options)
    await expectAllFound(store)
    expect(await listBlocks(store)).toEqual(['1-20', '21-40', '41-60'])
    await audit.close()
  })

  it('only the rows of an earlier process, and those before a failure, are read', async () => {
    const { store, folder, audit } = await open()
    await recordPeople(audit, BLOCK + 5)
    await audit.close()
    const recent = createRecentRows(BLOCK)
    const next = await openLog(store, folder, recent)
    await recordPeople(next, BLOCK)
    expect((await indexCounting(store, recent)).length).toBeGreaterThan(0)
    expect(await listBlocks(store)).toEqual(['1-20', '21-40'])
    await recordPeople(next, BLOCK)
    expect(await indexCounting(store, recent)).toEqual([])
    recent.forget()
    await recordPeople(next, 2 * BLOCK)
    expect((await indexCounting(store, recent)).length).toBeGreaterThan(0)
    await expectAllFound(store)
    expect(await listBlocks(store)).toEqual(['1-20', '21-40', '41-60', '61-80', '81-100'])
    await next.close()
  })

  it('a block that another process wrote is continued, whatever its length', async () => {
    const { store, recent, audit } = await open()
    await recordPeople(audit, BLOCK + 3)
    await indexSubjects(store.subjects, { blockRows: 7 })
    await recordPeople(audit, BLOCK)
    expect(await indexCounting(store, recent)).toEqual([])
    expect(await listBlocks(store)).toEqual(['1-7', '8-14', '15-21', '22-41'])
    await expectAllFound(store)
    await audit.close()
  })

  it('two processes that index at the same time write every block once', async () => {
    const { place, store, recent, audit } = await open()
    const otherStore = await place.open()
    onTestFinished(() => otherStore.close())
    const otherRecent = createRecentRows(BLOCK)
    const other = await openLog(otherStore, newDataDir(), otherRecent)
    for (let round = 0; round < 3; round++) {
      await Promise.all([recordPeople(audit, BLOCK + round), recordPeople(other, 2 * BLOCK)])
      await Promise.all([
        indexRecent(tablesOf(store), recent, options),
        indexRecent(tablesOf(otherStore), otherRecent, options),
        indexSubjects(store.subjects, options),
        indexSubjects(otherStore.consents, options),
      ])
      await expectAllFound(store)
    }
    for (const { head, indexed } of await store.subjects.chains()) expect(head - indexed).toBeLessThan(BLOCK)
    await audit.close()
    await other.close()
  })

  it('a checkpoint reads no row that this process wrote last, and is right', async () => {
    const { store, folder, recent, audit } = await open()
    const checkpoint = async () => {
      const recorded: Recorded[] = []
      const table = defineAuditTable().create(recordStatements(store.database, recorded))
      const { insertCheckpoint } = store.audit
      await makeCheckpoint({ ...table, insertCheckpoint }, signer, folder, recent)
      expect(await verifyStore(store, { publicKey })).toMatchObject({ sound: true, unsigned: 0 })
      return recorded.filter(({ sql }) => sql.includes('hash') && sql.includes('string_agg')).length
    }
    await recordPeople(audit, 3 * BLOCK + 5)
    expect(await checkpoint()).toBe(0)
    await recordPeople(audit, 7 * BLOCK)
    // Only the last four blocks are held.
    expect(await checkpoint()).toBeGreaterThan(0)
    await recordPeople(audit, 3)
    expect(await checkpoint()).toBe(0)
    recent.forget()
    await recordPeople(audit, 3)
    expect(await checkpoint()).toBe(0)
    await audit.close()
  })

  it('a checkpoint is made from the rows of the database where others are held', async () => {
    const { store, folder, audit } = await open()
    await recordPeople(audit, BLOCK)
    const chain = (await store.audit.chains())[0]?.chain ?? ''
    const other = createRecentRows(BLOCK)
    const entries = Array.from({ length: 2 * BLOCK }, () => ({ phase: 'outcome', outcome: 'lost' }))
    other.add(linkEntries(chain, EMPTY_HEAD, entries))
    await makeCheckpoint(store.audit, signer, folder, other)
    expect(await verifyStore(store, { publicKey })).toMatchObject({ sound: true, unsigned: 0 })
    await audit.close()
  })

  it('a server writes a block as soon as its rows are there', async () => {
    const { store, recent, audit } = await open()
    const { promise: wrote, resolve } = Promise.withResolvers<void>()
    // The index of consents comes after the one of subjects.
    const insertBlock: SubjectTable['insertBlock'] = async (block) => {
      const isMine = await store.consents.insertBlock(block)
      resolve()
      return isMine
    }
    const onFailure = (error: unknown) => expect.fail(String(error))
    const tables = [store.subjects, { ...store.consents, insertBlock }]
    const stop = startSubjectIndex({ tables, recent, isForAll: false, onFailure, blockRows: BLOCK })
    await recordPeople(audit, BLOCK)
    await wrote
    expect(await listBlocks(store)).toEqual(['1-20'])
    await stop()
    await audit.close()
  })

  it('nothing is read or written for rows that are recorded after the index was stopped', async () => {
    const { store, recent, audit } = await open()
    let reads = 0
    const indexed = async () => {
      reads += 1
      return 0
    }
    const tables = [{ ...store.subjects, indexed }]
    const onFailure = (error: unknown) => expect.fail(String(error))
    const stop = startSubjectIndex({ tables, recent, isForAll: false, onFailure, blockRows: BLOCK })
    await stop()
    await recordPeople(audit, BLOCK)
    await audit.close()
    expect(reads).toBe(0)
  })
})

describeEngines([SQLITE_WITH_WRITER, POSTGRES], (engine) => {
  it.each(['before', 'during', 'after'])(
    'a process that is killed %s the write of a block leaves no row that is not found',
    async (step) => {
      const place = await engine.createPlace()
      const folder = newFolder()
      const store = await place.open()
      onTestFinished(() => store.close())
      const child = spawn(process.execPath, [CHILD, JSON.stringify({ ...place.options, folder }), step], {
        stdio: ['ignore', 'inherit', 'inherit'],
      })
      const [, signal] = await once(child, 'exit')
      expect(signal).toBe('SIGKILL')
      await expectAllFound(store)
      const recent = createRecentRows(BLOCK)
      const audit = await openLog(store, folder, recent)
      await recordPeople(audit, 2 * BLOCK)
      await indexRecent(tablesOf(store), recent, options)
      await expectAllFound(store)
      expect((await listBlocks(store)).slice(0, 4)).toEqual(['1-20', '21-40', '41-60', '61-80'])
      await audit.close()
    },
  )
})
