import { createSecretKey } from 'node:crypto'
import { appendFileSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createSqliteAuditSnapshot, withAuditSnapshot } from '../../src/audit/audit-snapshot.ts'
import type { Checkpoint } from '../../src/audit/audit-table.ts'
import { makeCheckpoint } from '../../src/audit/checkpoint.ts'
import { findCheckpointFile } from '../../src/audit/checkpoint-file.ts'
import { toPublicKey } from '../../src/audit/open-checkpoint.ts'
import { EMPTY_HEAD, linkEntries } from '../../src/audit/row.ts'
import { createSigner } from '../../src/audit/signing.ts'
import { verifyAuditLog } from '../../src/audit/verify/verify-audit-log.ts'
import { verifyStore } from '../../src/audit/verify/verify-store.ts'
import { CHAINS, createSampleLog, readLines, type SampleLog } from './sample-log.ts'

let log: SampleLog
beforeAll(async () => {
  log = await createSampleLog()
})
afterAll(() => log.close())

const verify = (path?: string, publicKey = log.publicKey) => {
  const file = path === undefined ? undefined : findCheckpointFile(path)
  return withAuditSnapshot(log.store, (scan) => verifyAuditLog(scan, { publicKey, file }))
}

/** A checkpoints.log of these lines. */
function toFile(...lines: string[]): string {
  const path = join(mkdtempSync(join(tmpdir(), 'tabbat-audit-')), 'checkpoints.log')
  writeFileSync(path, lines.join('\n'))
  return path
}

const otherSigner = createSigner(createSecretKey(Buffer.alloc(32, 9)))

describe('a checkpoints.log', () => {
  it('is read to the end, and the time of its last checkpoint is returned', async () => {
    const last = JSON.parse(readLines(log.file).at(-1) ?? '') as Checkpoint
    expect((await verify(log.file)).file).toEqual({ checkpoints: 5, unreadable: 0, last: last.time })
  })

  it('may end in the middle of a line', async () => {
    const [first = '', second = ''] = readLines(log.file)
    const verdict = await verify(toFile(first, second.slice(0, 100)))
    expect(verdict).toMatchObject({ sound: true, file: { checkpoints: 1, unreadable: 1 } })
  })

  it('may have a checkpoint after an incomplete one', async () => {
    const [first = '', second = ''] = readLines(log.file)
    const verdict = await verify(toFile(first.slice(0, 70) + second, '', 'null', '{}'))
    expect(verdict).toMatchObject({ sound: true, file: { checkpoints: 1, unreadable: 2 } })
  })

  it('is refused when it does not exist', () => {
    expect(() => findCheckpointFile('/nowhere/checkpoints.log')).toThrow('/nowhere/checkpoints.log')
    expect(() => findCheckpointFile('/')).toThrow('cannot be read')
  })

  it('with a forged signature is a fault', async () => {
    const { time, body } = JSON.parse(readLines(log.file)[2] ?? '') as Checkpoint
    const forged = JSON.stringify({ time, body, signature: otherSigner.sign(body) })
    const { sound, fault } = await verify(toFile(forged))
    expect([sound, fault?.chain, fault?.sequence]).toEqual([false, null, null])
    expect(fault?.reason).toContain(`the checkpoint of ${time} in /`)
    expect(fault?.reason).toContain('has no valid signature')
  })

  it('must not have checkpoints that the database does not have', async () => {
    const body = JSON.stringify({ version: 1, time: '2026-01-01T00:00:00.000Z', heads: [] })
    const line = JSON.stringify({ time: '2026-01-01T00:00:00.000Z', body, signature: log.signer.sign(body) })
    expect((await verify(toFile(line))).fault?.reason).toContain('is not in the database')
  })

  it('that grows is read up to its size when it was opened', async () => {
    const path = toFile(...readLines(log.file))
    const file = findCheckpointFile(path)
    appendFileSync(path, '\na later line')
    const { publicKey } = log
    const verdict = await withAuditSnapshot(log.store, (scan) => verifyAuditLog(scan, { publicKey, file }))
    expect(verdict).toMatchObject({ sound: true, file: { checkpoints: 5, unreadable: 0 } })
  })
})

describe('several threads', () => {
  const verifyInThreads = (path: string, publicKey = log.publicKey) =>
    verifyStore(log.store, { publicKey, file: findCheckpointFile(path), threadsFromRows: 0 })

  it('finds the same as one thread', async () => {
    expect(await verifyInThreads(log.file)).toEqual(await verify(log.file))
    const [first = ''] = readLines(log.file)
    const forged = toFile(first.replace(/.{12}"}$/, 'AAAAAAAAAA=="}'))
    expect(await verifyInThreads(forged)).toEqual(await verify(forged))
    expect((await verifyInThreads(forged)).sound).toBe(false)
  })

  it('read past lines of the file that are no checkpoints', async () => {
    const [first = '', second = ''] = readLines(log.file)
    const verdict = await verifyInThreads(toFile(first, 'null', second.slice(0, 100)))
    expect(verdict).toMatchObject({ sound: true, file: { checkpoints: 1, unreadable: 2 } })
  })
})

it('needs the right public key', async () => {
  const { fault } = await verify(undefined, toPublicKey(otherSigner.publicKey, 'The key'))
  expect(fault?.reason).toContain('has no valid signature')
})

it.each([
  ['not a key', 'x'],
  ['a private key', '-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIAAB\n-----END PRIVATE KEY-----'],
  ['nothing', ''],
])('refuses %s as a public key', (_what, text) => {
  expect(() => toPublicKey(text, 'key.pem')).toThrow('key.pem is not the public key of an audit log')
})

describe('copies of the database', () => {
  const copy = (name: string) => {
    const path = join(mkdtempSync(join(tmpdir(), 'tabbat-audit-')), name)
    const source = new DatabaseSync(join(log.folder, 'tabbat.db'))
    source.exec(`VACUUM INTO '${path}'`)
    source.close()
    return path
  }
  const verifyCopy = async (path: string, file?: string) => {
    const database = new DatabaseSync(path)
    const options = { publicKey: log.publicKey, file: file ? findCheckpointFile(file) : undefined }
    const verdict = await verifyAuditLog(createSqliteAuditSnapshot(database), options)
    database.close()
    return verdict
  }

  it('that are old are found only with the checkpoint file', async () => {
    const old = copy('old.db')
    const head = (await log.store.audit.head(CHAINS[0])) ?? EMPTY_HEAD
    await log.store.audit.append({
      rows: log.store.audit.packRows(linkEntries(CHAINS[0], head, [{ phase: 'key_created' }])),
    })
    expect(await verify()).toMatchObject({ sound: true, unsigned: 1 })
    await makeCheckpoint(log.store.audit, log.signer, log.folder)
    expect(await verify(log.file)).toMatchObject({ sound: true, unsigned: 0, checkpoints: 6 })
    expect((await verifyCopy(old)).sound).toBe(true)
    expect((await verifyCopy(old, log.file)).fault).toMatchObject({
      chain: CHAINS[0],
      sequence: head.sequence + 1,
      reason: expect.stringContaining('an older copy of the database was restored'),
    })
  })

  it('with a duplicate row are found, also between two pages', async () => {
    const path = copy('twice.db')
    const database = new DatabaseSync(path)
    database.exec(
      `CREATE TABLE loose AS SELECT * FROM audit; DROP TABLE audit; ALTER TABLE loose RENAME TO audit;
       INSERT INTO audit SELECT * FROM audit WHERE chain = '${CHAINS[1]}' AND sequence = 72`,
    )
    database.close()
    expect((await verifyCopy(path)).sound).toBe(false)
  })
})
