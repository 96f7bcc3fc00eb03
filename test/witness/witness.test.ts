import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { createEmptyDatabase, hasPostgres } from '../postgres.ts'
import { newDataDir, type Settings, startServer, tabbat } from '../process/tabbat.ts'
import { startReceiver } from './receiver.ts'

const KEY = /tbt_test_\w+/.exec(readFileSync('src/keys/sandbox-key.ts', 'utf8'))?.[0] ?? ''

/** Starts a server, verifies once, and stops it, which makes the last checkpoint. */
async function serveOnce(settings: Settings): Promise<void> {
  const server = await startServer(settings)
  const answer = await fetch(`${server.url}/api/v2/kyc/verify-nin`, {
    method: 'POST',
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify({ nin: '12345678901', phone: '08031234567' }),
  })
  expect(answer.status).toBe(200)
  expect(await server.stop()).toBe(0)
}

/** Cuts off the end of the log, the checkpoints of it, and their lines in the file of the server. */
function cut(folder: string): void {
  const database = new DatabaseSync(join(folder, 'tabbat.db'))
  database.exec(`
    DROP TRIGGER audit_no_delete;
    DROP TRIGGER checkpoints_no_delete;
    DELETE FROM audit WHERE sequence > 1;
    DELETE FROM checkpoints WHERE time > (SELECT MIN(time) FROM checkpoints)`)
  database.close()
  const file = join(folder, 'checkpoints.log')
  writeFileSync(file, `${readFileSync(file, 'utf8').split('\n')[0]}\n`)
}

const docs = readFileSync('docs/audit-format.md', 'utf8')
/** The statements of the documentation, which the owner of the second database runs. */
const [, documented = ''] = /```sql\n(CREATE TABLE tabbat_checkpoints[^`]*)```/.exec(docs) ?? []

/** A second database, and the address of a role that may only add and read. */
async function createWitnessDatabase(): Promise<{ owner: string; address: string }> {
  const owner = await createEmptyDatabase()
  const role = `witness_${process.pid}_${Date.now()}`
  const client = new Client(owner)
  await client.connect()
  await client.query(documented.replaceAll('tabbat_witness', role).replace('a long password', 'secret'))
  await client.end()
  const url = new URL(owner)
  url.username = role
  url.password = 'secret'
  return { owner, address: url.href }
}

const KINDS = ['webhook', 'sqlite', 'postgres'] as const

describe.each(KINDS)('a witness: %s', (kind) => {
  const isSkipped = kind === 'postgres' && !hasPostgres()
  const folders = [newDataDir(), mkdtempSync(join(tmpdir(), 'tabbat-witness-test-'))]
  const [dataDir = '', elsewhere = ''] = folders
  const settings: Settings = { TABBAT_DATA_DIR: dataDir, TABBAT_LOG_LEVEL: 'silent' }
  let close = async () => {}

  beforeAll(async () => {
    if (isSkipped) return
    if (kind === 'sqlite') settings.TABBAT_WITNESS = `sqlite:${join(elsewhere, 'witness.db')}`
    if (kind === 'postgres') settings.TABBAT_WITNESS = (await createWitnessDatabase()).address
    if (kind === 'webhook') {
      const receiver = await startReceiver('a-token')
      close = receiver.close
      const token = { TABBAT_WITNESS_TOKEN: 'a-token', TABBAT_WEBHOOKS_PRIVATE: 'on' }
      Object.assign(settings, { TABBAT_WITNESS: receiver.url, ...token })
    }
    for (let turn = 0; turn < 2; turn++) await serveOnce(settings)
  })
  afterAll(async () => {
    await close()
    for (const folder of folders) rmSync(folder, { recursive: true, force: true })
  })

  it.skipIf(isSkipped)('has every checkpoint, also the last one, and the log agrees with it', async () => {
    const { code, stdout } = await tabbat(settings, 'audit', 'verify', '--witness', '--json')
    const { sound, checkpoints, file, limits } = JSON.parse(stdout)
    expect([code, sound, file.checkpoints]).toEqual([0, true, checkpoints])
    expect(checkpoints).toBeGreaterThan(1)
    // This server can change all of a SQLite file.
    const limit =
      kind === 'sqlite' ? /^Not compared: .* this server cannot change/ : /^This holds up to 2.* the witness /
    expect(limits[0]).toMatch(limit)
    const doctor = JSON.parse((await tabbat(settings, 'doctor', '--json')).stdout)
    expect(doctor.checks).toContainEqual(
      expect.objectContaining({ check: 'witness', status: 'ok', text: expect.stringContaining(file.last) }),
    )
  })

  it.skipIf(isSkipped)('shows that the end of the log was cut off', async () => {
    cut(dataDir)
    expect((await tabbat(settings, 'audit', 'verify')).code).toBe(0)
    const { code, stdout } = await tabbat(settings, 'audit', 'verify', '--witness')
    expect(code).toBe(1)
    expect(stdout).toMatch(/NOT sound\. First fault: .*the checkpoint of 2.* in the witness /)
    expect(stdout).not.toMatch(/a-token|secret|\/checkpoints/)
  })
})

describe.skipIf(!hasPostgres())('the documented role of the second database', () => {
  it('may add and read checkpoints, and nothing else', async () => {
    const { owner, address } = await createWitnessDatabase()
    const insert = `INSERT INTO tabbat_checkpoints (time, body, signature) VALUES ('2026', '{}', 'x')`
    const client = new Client(address)
    await client.connect()
    await client.query(insert)
    for (const sql of [
      "UPDATE tabbat_checkpoints SET body = ''",
      'DELETE FROM tabbat_checkpoints',
      'TRUNCATE tabbat_checkpoints',
      'DROP TABLE tabbat_checkpoints',
    ])
      await expect(client.query(sql)).rejects.toThrow(/permission denied|must be owner/)
    expect((await client.query('SELECT * FROM tabbat_checkpoints')).rows).toHaveLength(1)
    await client.end()
    const ownClient = new Client(owner)
    await ownClient.connect()
    await expect(ownClient.query('DELETE FROM tabbat_checkpoints')).rejects.toThrow(/cannot be changed/)
    await ownClient.end()
  })
})

describe('tabbat audit verify --witness', () => {
  it('says what is missing', async () => {
    const settings = { TABBAT_DATA_DIR: newDataDir() }
    await tabbat(settings, 'keys', 'create', '--name', 'shop', '--mode', 'test')
    const verify = async (more: Settings, ...args: string[]) =>
      (await tabbat({ ...settings, ...more }, 'audit', 'verify', '--witness', ...args)).stderr
    expect(await verify({})).toContain('No witness is configured. Set TABBAT_WITNESS.')
    expect(await verify({ TABBAT_WITNESS: 'sqlite:/nowhere/witness.db' })).toContain(
      'no database of a witness',
    )
    const closed = { TABBAT_WITNESS: 'http://127.0.0.1:9/hook', TABBAT_WEBHOOKS_PRIVATE: 'on' }
    expect(await verify(closed)).toMatch(/cannot be read \(no_connection\)\..*--checkpoints/)
    expect(await verify({ TABBAT_WITNESS: 'http://127.0.0.1:9/hook' })).toContain('must be an https address')
    expect(await verify(closed, '--checkpoints', 'x')).toContain('not both')
  })

  it('ends when a webhook answers every position with the same list', async () => {
    const receiver = await startReceiver()
    onTestFinished(receiver.close)
    receiver.state.ignoresPosition = true
    const settings = {
      ...{ TABBAT_DATA_DIR: newDataDir(), TABBAT_LOG_LEVEL: 'silent' },
      ...{ TABBAT_WITNESS: receiver.url, TABBAT_WEBHOOKS_PRIVATE: 'on' },
    }
    await serveOnce(settings)
    const { code, stderr } = await tabbat(settings, 'audit', 'verify', '--witness')
    expect([code, stderr]).toEqual([1, expect.stringContaining('the same checkpoints for another position')])
  })

  it('does not call a file elsewhere that this server writes', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'tabbat-witness-test-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const settings = {
      ...{ TABBAT_DATA_DIR: newDataDir(), TABBAT_LOG_LEVEL: 'silent' },
      TABBAT_WITNESS: `sqlite:${join(folder, 'witness.db')}`,
    }
    await serveOnce(settings)
    expect((await tabbat(settings, 'audit', 'verify', '--witness')).stdout).toMatch(
      /^No difference .* cannot be seen if it was also made there, where this server can write\./,
    )
  })
})
