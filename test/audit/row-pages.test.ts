import { hash } from 'node:crypto'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { Head } from '../../src/audit/audit-chains.ts'
import { createSqliteAuditSnapshot } from '../../src/audit/audit-snapshot.ts'
import { makeCheckpoint } from '../../src/audit/checkpoint.ts'
import { computeMerkleRoot } from '../../src/audit/merkle.ts'
import { linkEntries } from '../../src/audit/row.ts'
import { HASHED_FIELDS } from '../../src/audit/verify/row-hasher.ts'
import { createStretchCheck, type Stretch } from '../../src/audit/verify/stretch-check.ts'
import { verifyAuditLog } from '../../src/audit/verify/verify-audit-log.ts'
import { verifyInThreads, verifyStore } from '../../src/audit/verify/verify-store.ts'
import { createSqliteRowPages } from '../../src/database/page-source.ts'
import { CHAINS, createSampleLog, type SampleLog } from './sample-log.ts'
import { verifyPages } from './verify-pages.ts'

/** What the threads of a verification read as bytes, and its ambiguities. */
let log: SampleLog
let database: DatabaseSync

beforeEach(async () => {
  log = await createSampleLog()
  database = new DatabaseSync(join(log.folder, 'tabbat.db'))
  for (const change of ['update', 'delete']) database.exec(`DROP TRIGGER audit_no_${change}`)
})
afterEach(async () => {
  database.close()
  await log.close()
})

const verify = () => verifyPages(database, { publicKey: log.publicKey })
const inThreads = () => verifyStore(log.store, { publicKey: log.publicKey, threadsFromRows: 0, threads: 2 })
const [CHAIN] = CHAINS

async function append(consent_reference: string): Promise<void> {
  const head = (await log.store.audit.head(CHAIN)) as Head
  const rows = linkEntries(CHAIN, head, [{ phase: 'outcome', consent_reference }])
  await log.store.audit.append({ rows: log.store.audit.packRows(rows) })
}

it('accepts any text in a field', async () => {
  for (const text of ['', 'Adé ₦ 7', '\0', 'x'.repeat(2_000_000)]) await append(text)
  expect(await verify()).toMatchObject({ sound: true, rows: 212, unsigned: 4 })
  expect(await inThreads()).toMatchObject({ sound: true, rows: 212, unsigned: 4 })
})

it('leaves a row whose text contains the separator to the other verifier', async () => {
  await append('one\u001ftwo')
  expect(await verify()).toBeUndefined()
  expect(await inThreads()).toMatchObject({ sound: true, rows: 209 })
})

it('does not accept a stretch that does not begin where the one before has ended', async () => {
  const scan = createSqliteAuditSnapshot(database)
  const check = createStretchCheck(createSqliteRowPages(database))
  const previousOf = async ({ chain, after, previous }: Stretch) =>
    (await scan.hashes(chain, after - 1, after))[0] ?? previous
  // Threads that see another row before each stretch than the connection that plans the stretches.
  const checker = {
    check: async (stretch: Stretch) => check({ ...stretch, previous: await previousOf(stretch) }),
    maxAtOnce: 1,
  }
  const options = { publicKey: log.publicKey }
  expect(await verifyInThreads(scan, checker, options, 8)).toMatchObject({ sound: true })
  const other = { ...scan, hashes: async () => [hash('sha256', 'other', 'hex')] }
  expect(await verifyInThreads(other, checker, options, 8)).toBeUndefined()
})

it('accepts checkpoints that overlap', async () => {
  const head = (await log.store.audit.head(CHAIN)) as Head
  const hash = Buffer.from(head.hash).toString('hex')
  const sign = async (from: number) => {
    const hashes = await log.store.audit.hashes(CHAIN, from, head.sequence)
    const root = (await computeMerkleRoot(toPages(hashes))).toString('hex')
    const heads = [{ chain: CHAIN, sequence: head.sequence, hash, from, root }]
    const time = new Date(Date.now() + 1000 + from).toISOString()
    const body = JSON.stringify({ version: 1, time, heads })
    await log.store.audit.insertCheckpoint({ time, body, signature: log.signer.sign(body) })
  }
  for (const from of [0, 1, 33]) await sign(from)
  await append('more')
  await makeCheckpoint(log.store.audit, log.signer, log.folder)
  expect(await verify()).toMatchObject({ sound: true, checkpoints: 9, rows: 209, unsigned: 0 })
})

async function* toPages(hashes: readonly Uint8Array[]) {
  yield hashes
}

it.each([
  ['the bytes of a text as a blob', 'subject = CAST(subject AS BLOB)'],
  ['an empty text for NULL', "amount = ''"],
  ['a hash as text', 'hash = CAST(hash AS TEXT)'],
  ['a format as a blob', "format = x'32'"],
])('does not accept %s', async (_what, change) => {
  database.exec(`UPDATE audit SET ${change} WHERE chain = '${CHAIN}' AND sequence = 45`)
  expect(await verify()).toBeUndefined()
  expect((await inThreads()).fault).toMatchObject({ chain: CHAIN, sequence: 45 })
})

/** Computes the hash of the last row from the bytes in the database, as an attacker can. */
function rehashLast(columns: Readonly<Record<string, string>>): void {
  const last = `chain = '${CHAIN}' AND sequence = (SELECT MAX(sequence) FROM audit WHERE chain = '${CHAIN}')`
  for (const [column, value] of Object.entries(columns))
    database.exec(`UPDATE audit SET ${column} = ${value} WHERE ${last}`)
  const cells = HASHED_FIELDS.map((field) => `CAST(${field} AS BLOB)`).join(', ')
  const statement = database.prepare(`SELECT ${cells}, previous_hash FROM audit WHERE ${last}`)
  statement.setReturnArrays(true)
  const fields = statement.get() as unknown as (Uint8Array | null)[]
  const previous = fields.pop() as Uint8Array
  const parts = fields.flatMap((bytes) => {
    const length = Buffer.alloc(4)
    length.writeUInt32BE(bytes ? bytes.length : 0xffffffff)
    return bytes ? [length, bytes] : [length]
  })
  const digest = hash('sha256', Buffer.concat([Buffer.from([2]), ...parts, previous]), 'hex')
  database.exec(`UPDATE audit SET hash = x'${digest}' WHERE ${last}`)
}

it.each([
  ['bytes that are no UTF-8', true, "CAST(x'41ff42' AS TEXT)"],
  ['an encoded surrogate', true, "CAST(x'eda080' AS TEXT)"],
  ['the text itself', false, "'Ad\u00e9'"],
])('rows whose hash is that of %s are refused: %s', async (_what, isRefused, value) => {
  await append('x')
  rehashLast({ consent_reference: value })
  const verdict = await verifyAuditLog(createSqliteAuditSnapshot(database), { publicKey: log.publicKey })
  expect(verdict.sound).toBe(!isRefused)
  expect(await verify()).toEqual(isRefused ? undefined : verdict)
})

it('does not accept a byte that moved from one hash to the next', async () => {
  database.exec(
    `UPDATE audit SET hash = hash || substr(hash, 1, 1) WHERE chain = '${CHAIN}' AND sequence = 45`,
  )
  database.exec(`UPDATE audit SET hash = CAST(hash AS BLOB) WHERE chain = '${CHAIN}' AND sequence = 45`)
  database.exec(
    `UPDATE audit SET previous_hash = substr(previous_hash, 2) WHERE chain = '${CHAIN}' AND sequence = 46`,
  )
  expect(await verify()).toBeUndefined()
  expect((await inThreads()).fault).toMatchObject({ chain: CHAIN, sequence: 45 })
})
