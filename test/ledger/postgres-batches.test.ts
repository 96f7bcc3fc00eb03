import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { loadConfig } from '../../src/context/config.ts'
import { toLagosDay } from '../../src/contract/time.ts'
import { createKey } from '../../src/keys/manage.ts'
import { sealEntry, toSubject } from '../../src/registry/sealed-entry.ts'
import { createApiServer } from '../../src/server/api-server.ts'
import { createContext } from '../../src/server/create-context.ts'
import { toNinRecord } from '../../src/sources/sandbox/nin-record.ts'
import { bearer, PHONE } from '../app.ts'
import { openCountingProxy } from '../database/counting-proxy.ts'
import { newFolder } from '../engines.ts'
import { inject } from '../inject.ts'
import { createTestDatabase, execute, hasPostgres } from '../postgres.ts'

const NINS = Array.from({ length: 50 }, (_each, index) => String(63_000_000_000 + index))

/** A node with a live key and some people in its registry. */
async function openNode(url: string) {
  const settings = { TABBAT_DATA_DIR: newFolder(), TABBAT_LOG_LEVEL: 'silent', TABBAT_DATABASE_URL: url }
  const node = await createContext(loadConfig(settings, ''))
  const options = { name: 'test', mode: 'live', scopes: ['kyc:nin'], expiresAt: undefined } as const
  const key = await createKey({ ...node, keyring: node.keyring() }, { ...options, allowedIps: undefined })
  const records = NINS.map((nin) =>
    sealEntry(node.keyring(), 'nin', nin, { record: toNinRecord(nin, PHONE.slice(1)), mediaId: null }),
  )
  await node.store.registry.save({ records, media: [], at: Date.now() })
  const verify = async (index: number, header?: string) => {
    const answer = await inject(createApiServer(node), {
      method: 'POST',
      url: '/api/v2/kyc/verify-nin',
      headers: { ...bearer(key.text), ...(header === undefined ? {} : { 'idempotency-key': header }) },
      payload: { nin: NINS[index], phone: PHONE },
    })
    expect(answer.statusCode).toBe(200)
  }
  return { node, keyId: key.row.id, verify }
}

describe.skipIf(!hasPostgres())('verifications on PostgreSQL', () => {
  describe('counted on the wire', () => {
    let proxy: Awaited<ReturnType<typeof openCountingProxy>>
    let opened: Awaited<ReturnType<typeof openNode>>
    beforeAll(async () => {
      proxy = await openCountingProxy(await createTestDatabase())
      opened = await openNode(proxy.url)
      await opened.verify(0)
    })
    afterAll(async () => {
      await opened.node.close()
      await proxy.close()
    })

    /** The least of several: the node also asks the database for its own purposes. */
    const countLeast = async (work: (attempt: number) => Promise<unknown>) => {
      const counts: number[] = []
      for (let attempt = 0; attempt < 9; attempt++) {
        const before = proxy.count()
        await work(attempt)
        const after = proxy.count()
        // Without a transaction of several statements, the recording statement is the only commit.
        if (after.inTransaction === before.inTransaction) counts.push(after.all - before.all)
      }
      return Math.min(...counts)
    }

    it('one verification takes two round trips', async () => {
      expect(await countLeast((attempt) => opened.verify(1 + attempt))).toBe(2)
    })

    it('one with an Idempotency-Key takes two round trips, and its replay two', async () => {
      expect(await countLeast((attempt) => opened.verify(10 + attempt, `wire-${attempt}`))).toBe(2)
      expect(await countLeast((attempt) => opened.verify(10 + attempt, `wire-${attempt}`))).toBe(2)
    })

    it('those that arrive together share one look-up and one commit', async () => {
      const { local, keyring, audit } = opened.node
      const questions = NINS.map((nin) => ({
        record: { subject: toSubject(keyring(), 'nin', nin), decoy: randomBytes(32) },
        answer: { keyId: opened.keyId, operation: 'verify_nin', name: randomBytes(32) },
      }))
      const find = () => Promise.all(questions.map((question) => local.lookups.find(question)))
      const isFound = ({ record }: Awaited<ReturnType<typeof find>>[number]) => record.row !== undefined
      expect(await countLeast(async () => expect((await find()).every(isFound)).toBe(true))).toBe(1)

      const toGuess = (nin: string) => ({
        subject: opened.node.toSubjectHash('nin', nin),
        keyId: opened.keyId,
        isWrong: false,
        maxPeople: 1000,
        attempt: { counted: false },
      })
      const record = () =>
        Promise.all(
          NINS.map((nin) =>
            audit.recordWith({ guess: toGuess(nin), answer: undefined }, [{ phase: 'outcome' }]),
          ),
        )
      expect(await countLeast(record)).toBe(1)
    })
  })

  it('read by index also when the tables were empty at first', async () => {
    const url = await createTestDatabase()
    const { node, keyId, verify } = await openNode(url)
    await verify(0, 'first')
    const others = 'FROM generate_series(1, 5000) AS n'
    const subject = 'sha256(n::text::bytea)'
    await execute(
      url,
      `INSERT INTO key_subjects (key_id, day, subject) SELECT '${keyId}', ${toLagosDay(Date.now())}, ${subject} ${others}`,
      `INSERT INTO attempts (subject, key_id, at) SELECT ${subject}, '${keyId}', ${Date.now()} ${others}`,
      `INSERT INTO idempotency (key_id, operation, name, fingerprint, owner, lease_until, expires_at)
        SELECT '${keyId}', 'verify_nin', ${subject}, '', '', 0, ${Date.now()} ${others}`,
    )
    for (let index = 1; index <= 20; index++) await verify(index, `then-${index}`)
    await node.close()

    // A server process reports what it read before it ends.
    const countProcesses = async () =>
      (
        await execute(
          url,
          "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'tabbat'",
        )
      ).length
    await expect.poll(countProcesses).toBe(0)
    const read = await execute(
      url,
      `SELECT relname, (seq_tup_read + idx_tup_fetch)::int AS rows FROM pg_stat_user_tables
       WHERE relname IN ('key_subjects', 'attempts', 'idempotency', 'registry')`,
    )
    expect(read).toHaveLength(4)
    for (const { relname, rows } of read) expect([relname, Number(rows) < 1000]).toEqual([relname, true])
  })
})
