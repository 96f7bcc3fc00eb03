import { randomBytes } from 'node:crypto'
import { describe, expect, it, onTestFinished } from 'vitest'
import { DAY_MS } from '../../src/contract/time.ts'
import { openPostgres } from '../../src/database/postgres.ts'
import { registryTable } from '../../src/registry/registry-table.ts'
import type { SealedRecord } from '../../src/registry/sealed-entry.ts'
import { createTestDatabase, hasPostgres } from '../postgres.ts'

const NOW = Date.UTC(2026, 10, 16)

const createRecords = (count: number): SealedRecord[] =>
  Array.from({ length: count }, () => ({
    subject: randomBytes(32),
    kind: 'nin',
    keyVersion: 1,
    digest: randomBytes(32),
    sealed: randomBytes(64),
  }))

const toPicture = ({ subject }: SealedRecord) => ({
  id: randomBytes(16),
  subject,
  keyVersion: 1,
  sealed: randomBytes(10),
})

describe.skipIf(!hasPostgres())('saving batches in PostgreSQL', () => {
  /** One connection, whose plans are made while the tables are empty. */
  async function openRegistry() {
    const database = await openPostgres(await createTestDatabase(), { connections: 1 })
    onTestFinished(() => database.close())
    const countRead = async (table: string) => {
      await database.prepare('SELECT pg_stat_force_next_flush()').get()
      const row = await database
        .prepare('SELECT seq_tup_read AS rows FROM pg_stat_user_tables WHERE relname = $1')
        .get(table)
      return Number(row?.rows)
    }
    return { table: registryTable.create(database), countRead }
  }

  it('finds new, changed, unchanged and old records through the index', async () => {
    const { table, countRead } = await openRegistry()
    const save = (records: readonly SealedRecord[], at = NOW) => table.save({ records, media: [], at })
    const [first, second] = [createRecords(2000), createRecords(2000)]
    expect(await save(first)).toBe(2000)
    expect(await save(second)).toBe(2000)
    expect(await save([...first, ...second])).toBe(0)
    const changed = first.map((record) => ({ ...record, digest: randomBytes(32) }))
    expect(await save([...changed, ...second], NOW + 2 * DAY_MS)).toBe(2000)
    expect(await table.countOld(NOW + 3 * DAY_MS, 10)).toBe(0)
    expect(await countRead('registry')).toBe(0)
  })

  it('deletes the pictures of changed records through the index', async () => {
    const { table, countRead } = await openRegistry()
    const records = createRecords(150)
    await table.save({ records, media: [], at: NOW })
    const pictured = createRecords(40)
    await table.save({ records: pictured, media: pictured.map(toPicture), at: NOW })
    const changed = [...records, ...pictured].map((record) => ({ ...record, digest: randomBytes(32) }))
    expect(await table.save({ records: changed, media: [], at: NOW })).toBe(190)
    expect(await table.countMedia()).toBe(0)
    // Only `SELECT 1 FROM media LIMIT 1`, once a batch and once a picture, reads the table without its index.
    expect(await countRead('media')).toBeLessThanOrEqual(pictured.length)
  })
})
