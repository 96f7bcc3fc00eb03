import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createGzip, createZstdCompress } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { signStatement, toFrame, toPlacesFrame } from '../../src/audit/archive/archive-format.ts'
import { findCheckpointFile, readCheckpoints } from '../../src/audit/checkpoint-file.ts'
import { toPublicKey } from '../../src/audit/open-checkpoint.ts'
import { createSigner } from '../../src/audit/signing.ts'
import { verifyStore } from '../../src/audit/verify/verify-store.ts'
import { openTestConsole, type TestConsole } from '../admin/test-console.ts'

/** Small files that unpack to this much. */
const BOMB_MB = 600
const MAX_GROWTH_MB = 200

const folder = mkdtempSync(join(tmpdir(), 'tabbat-bombs-'))
const archive = (name: string) => join(folder, `${name}.audit.zst`)

/** The highest memory use of this process so far. */
const readPeakMb = () => process.resourceUsage().maxRSS / 1024

async function withinBounds<T>(work: () => Promise<T>): Promise<T> {
  const before = readPeakMb()
  const result = await work()
  expect(readPeakMb() - before).toBeLessThan(MAX_GROWTH_MB)
  return result
}

async function writeBomb(path: string, packer: ReturnType<typeof createGzip>): Promise<Buffer> {
  packer.pipe(createWriteStream(path))
  const done = once(packer, 'end')
  const piece = Buffer.alloc(8 * 1024 * 1024, ' ')
  for (let written = 0; written < BOMB_MB; written += 8) if (!packer.write(piece)) await once(packer, 'drain')
  packer.end()
  await done
  return readFileSync(path)
}

/** A file that ends like an archive, with these frames as its directory and its statement. */
function writeArchive(name: string, directory: Buffer, statement: Buffer): void {
  const places = toPlacesFrame(
    { at: 0, length: directory.length },
    { at: directory.length, length: statement.length },
  )
  writeFileSync(archive(name), Buffer.concat([directory, statement, places]))
}

let at: TestConsole
let bomb: Buffer
const signer = () => createSigner(at.context.keyring()['audit-signing'])

beforeAll(async () => {
  at = await openTestConsole({ TABBAT_AUDIT_ARCHIVE_DIR: folder })
  bomb = await writeBomb(join(folder, 'bomb'), createZstdCompress())
  expect(bomb.length).toBeLessThan(200_000)
  const forged = { statement: '{"kind":"tabbat-audit-archive"}', signature: 'AAAA' }
  writeArchive('directory', bomb, await toFrame([JSON.stringify(forged)]))
  writeArchive('statement', await toFrame(['{}']), bomb)
  // Signed for another content.
  const about = { number: 1, previous: null, time: '2026-01-01T00:00:00.000Z', before: '2026-01-01', by: 'x' }
  const size = { rows: 1, checkpoints: 0, checkpoints_until: '', bytes: bomb.length, digest: '0'.repeat(64) }
  const stolen = signStatement({ ...about, ...size, chains: [] }, signer())
  writeArchive('stolen', bomb, await toFrame([JSON.stringify(stolen)]))
  execFileSync('mkfifo', [archive('pipe')])
})
afterAll(async () => {
  await at.close()
  rmSync(folder, { recursive: true })
})

describe('a small file in the folder of archives that unpacks to any size', () => {
  it('is left out of a search, which says why', async () => {
    const cookie = await at.openSession('viewer')
    const { archives_note: note } = await withinBounds(async () =>
      (await at.request('/admin/audit/search', { cookie, body: {} })).json(),
    )
    expect(note).toContain(`${archive('directory')} is not an archive of this audit log`)
    expect(note).toContain(`${archive('statement')} is no complete audit archive`)
    expect(note).toContain(`${archive('stolen')} is not the file that was archived`)
    expect(note).toContain(`${archive('pipe')} is no complete audit archive`)
  })

  it.each([
    ['directory', /no valid signature/],
    ['stolen', /not the file that was archived/],
  ])('is a fault for a verification of the log: %s', async (name, reason) => {
    const publicKey = toPublicKey(signer().publicKey, 'The key')
    const verdict = await withinBounds(() =>
      verifyStore(at.context.store, { publicKey, archives: [archive(name)] }),
    )
    expect(verdict).toMatchObject({ sound: false, fault: { reason: expect.stringMatching(reason) } })
  })

  it.each(['statement', 'pipe'])('is refused by a verification of the log: %s', async (name) => {
    const publicKey = toPublicKey(signer().publicKey, 'The key')
    await withinBounds(() =>
      expect(verifyStore(at.context.store, { publicKey, archives: [archive(name)] })).rejects.toThrow(
        'is no complete audit archive',
      ),
    )
  })
})

describe('a compressed file with a line of any length', () => {
  it('is refused as a part of checkpoints.log', async () => {
    const part = join(folder, 'checkpoints-2026-01-01T00-00-00.000Z.log.gz')
    await writeBomb(part, createGzip())
    await withinBounds(() =>
      expect(Array.fromAsync(readCheckpoints(findCheckpointFile(part)))).rejects.toThrow('damaged'),
    )
  })
})
