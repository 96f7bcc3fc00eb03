import { createSecretKey } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { indexSubjects } from '../../src/audit/index-subjects.ts'
import { EMPTY_HEAD, linkEntries } from '../../src/audit/row.ts'
import type { Store } from '../../src/context/store.ts'
import { seal, toAssociatedData } from '../../src/crypto/seal.ts'
import type { DatabaseOptions } from '../../src/database/open-database.ts'
import { runScrubPass } from '../../src/registry/scrub-pass.ts'
import { openScrubTable } from '../../src/registry/scrub-table.ts'
import { openTestApp } from '../app.ts'
import { POSTGRES, SQLITE } from '../engines.ts'
import { hasPostgres } from '../postgres.ts'

const key = createSecretKey(Buffer.alloc(32, 7))

function toRecord(number: number, content = 'a record') {
  const subject = Buffer.alloc(32, number)
  const sealed = seal(key, Buffer.from(content), toAssociatedData('registry', subject, 1))
  return { kind: 'nin' as const, subject, keyVersion: 1, digest: Buffer.alloc(32), sealed }
}

const save = (store: Store, ...numbers: number[]) =>
  store.registry.save({ records: numbers.map((number) => toRecord(number)), media: [], at: 1 })

async function scrub(options: DatabaseOptions): Promise<number> {
  const table = await openScrubTable(options)
  return runScrubPass(table, { keys: new Map([[1, key]]), duty: 1, checkPages: true }).finally(table.close)
}

it('a server records when a scrub has ended', async () => {
  const server = await openTestApp({ TABBAT_SCRUB: '1s' })
  const read = async () => (await server.context.store.meta.read()).last_scrub_at
  await expect.poll(read).toMatch(/^\d{4}-/)
  await server.close()
})

const hundred = Array.from({ length: 100 }, (_each, index) => index)

describe.each([SQLITE, ...(hasPostgres() ? [POSTGRES] : [])])('a scrub of $name', ({ createPlace }) => {
  it('reads all records, accepts a sound database, and finds a record that cannot be opened', async () => {
    const { options, open } = await createPlace()
    const store = await open()
    await store.meta.insert('root_version', '1')
    await save(store, ...hundred)
    expect(await scrub(options)).toBeGreaterThan(1)
    const damaged = { ...toRecord(200), sealed: toRecord(201).sealed }
    await store.registry.save({ records: [damaged], media: [], at: 1 })
    await expect(scrub(options)).rejects.toMatchObject({ code: 'BROKEN_SEAL' })
    await store.close()
  })

  it('can use every index that it lists', async () => {
    const { options, open } = await createPlace()
    const store = await open()
    const table = await openScrubTable(options)
    const indexes = await table.listIndexes()
    expect(indexes.length).toBeGreaterThan(5)
    for (const index of indexes) expect(await table.countMissing(index, 0, 1), index.index).toBe(0)
    await table.close()
    await store.close()
  })

  it.each([
    [
      'an entry that was changed',
      "UPDATE audit_subject_pages SET entries = '0011223344556677' WHERE first_sequence = 201",
    ],
    ['a bucket that is missing', 'DELETE FROM audit_subject_pages WHERE first_sequence = 201'],
    ['that a block is missing', 'DELETE FROM audit_subject_blocks WHERE first_sequence = 101'],
    [
      'a block that covers rows with others',
      "INSERT INTO audit_subject_blocks (chain, first_sequence, last_sequence) VALUES ('node-1', 301, 400)",
    ],
    [
      'a block that was emptied, and the chain called archived',
      'DELETE FROM audit_subject_pages WHERE first_sequence = 201',
      'UPDATE audit_chains SET archive = 1',
    ],
    ['a bucket of consents that is missing', 'DELETE FROM audit_consent_pages WHERE first_sequence = 201'],
    ['that a block of consents is missing', 'DELETE FROM audit_consent_blocks WHERE first_sequence = 1'],
  ])('finds %s in the index of the audit log', async (_what, ...damage) => {
    const { options, open } = await createPlace()
    const store = await open()
    const subject = 'ab'.repeat(32)
    const consent = { consent_reference: 'form-17/2026' }
    await store.audit.claim('node-1', null, 'test', Date.now())
    const entries = Array.from({ length: 300 }, () => ({ phase: 'outcome', subject, ...consent }))
    await store.audit.append({ rows: store.audit.packRows(linkEntries('node-1', EMPTY_HEAD, entries)) })
    for (const index of [store.subjects, store.consents]) await indexSubjects(index, { blockRows: 100 })
    expect(await scrub(options)).toBeGreaterThan(6)
    for (const sql of damage) await store.database.prepare(sql).run()
    await expect(scrub(options)).rejects.toMatchObject({ code: 'DAMAGED_INDEX' })
    await store.close()
  })
})

describe.skipIf(!hasPostgres())('a scrub of PostgreSQL', () => {
  it('finds a row that is missing in the index', async () => {
    const { options, open } = await POSTGRES.createPlace()
    const store = await open()
    await save(store, ...hundred)
    const setReady = (isReady: boolean) =>
      store.database
        .prepare(
          `UPDATE pg_index SET indisready = ${isReady} WHERE indexrelid = 'registry_subject'::regclass`,
        )
        .run()
    await setReady(false)
    // A new connection has no cached query plan.
    const other = await open()
    await other.database
      .prepare(
        'INSERT INTO registry (subject, kind, key_version, digest, sealed, updated_at) VALUES ($1, $2, 1, $1, $3, 1)',
      )
      .run(Buffer.alloc(32, 250), 'nin', toRecord(250).sealed)
    await other.close()
    await setReady(true)
    await expect(scrub(options)).rejects.toMatchObject({ code: 'DAMAGED_INDEX' })
    await store.close()
  })
})
