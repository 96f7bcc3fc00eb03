import { existsSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { openKeyring, type RootState, sealCarried } from '../../src/crypto/keyring.ts'
import { createRootKeyText, loadRootKeys, parseRootKey, writeRootKeyFile } from '../../src/crypto/root-key.ts'

let dataDir: string
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'tabbat-root-'))
})

async function load(rootKey?: string, expected?: string, more: Partial<RootState> = {}) {
  const settings = { rootKey, rootKeyPrevious: undefined, rootKeyCommand: undefined, dataDir }
  const rootKeys = await loadRootKeys(settings, expected === undefined)
  const state = {
    fingerprint: expected,
    version: 1,
    previousFingerprint: undefined,
    carried: undefined,
    ...more,
  }
  const fingerprint = rootKeys.candidates[0]?.fingerprint
  return { fingerprint, origin: rootKeys.origin, keyring: openKeyring(rootKeys, state) }
}

describe('the root key', () => {
  it('is made on the first run, readable by its owner alone, and found again', async () => {
    const first = await load()
    expect(first.origin).toBe('file')
    expect(statSync(join(dataDir, 'root.key')).mode & 0o777).toBe(0o600)
    expect(readdirSync(dataDir)).toEqual(['root.key'])
    expect((await load(undefined, first.fingerprint)).fingerprint).toBe(first.fingerprint)
  })

  it('is taken from the settings as hex or base64', async () => {
    const bytes = Buffer.alloc(32, 7)
    expect((await load(bytes.toString('hex'))).fingerprint).toBe(
      (await load(bytes.toString('base64'))).fingerprint,
    )
    expect(existsSync(join(dataDir, 'root.key'))).toBe(false)
  })

  it('is refused when it is not the one of this database', async () => {
    const { fingerprint } = await load()
    await expect(load(Buffer.alloc(32, 1).toString('hex'), fingerprint)).rejects.toThrow(
      /TABBAT_ROOT_KEY.*not the one/,
    )
  })

  it('is not made anew when the database was made with one', async () => {
    const { fingerprint } = await load()
    rmSync(join(dataDir, 'root.key'))
    await expect(load(undefined, fingerprint)).rejects.toThrow(/root key is missing/)
    expect(existsSync(join(dataDir, 'root.key'))).toBe(false)
  })

  it('is refused when it is too short, without being repeated', async () => {
    writeFileSync(join(dataDir, 'root.key'), 'c2hvcnQ=', { mode: 0o600 })
    await expect(load()).rejects.toThrow(/must hold 32 bytes/)
    await expect(load('hunter2')).rejects.not.toThrow(/hunter2/)
  })

  it('opens both versions while a rotation is under way, and carries over what was hashed', async () => {
    const path = join(dataDir, 'root.key')
    const [oldText, newText] = [createRootKeyText(), createRootKeyText()]
    const [old, next] = [parseRootKey(oldText, path), parseRootKey(newText, path)]
    writeRootKeyFile(path, [oldText])
    const before = (await load(undefined, old.fingerprint)).keyring
    const carried = sealCarried(before, next, 2)
    writeRootKeyFile(path, [newText, oldText])
    const state = { version: 2, previousFingerprint: old.fingerprint, carried }
    const during = (await load(undefined, next.fingerprint, state)).keyring
    expect(during['api-key-pepper'].equals(before['api-key-pepper'])).toBe(true)
    expect(during.sealing(1)?.equals(before.sealing(1) as never)).toBe(true)
    expect(during.sealing(2)?.equals(before.sealing(1) as never)).toBe(false)
    writeRootKeyFile(path, [newText])
    await expect(load(undefined, next.fingerprint, state)).rejects.toThrow(
      /rotation of the root key is running/,
    )
    const after = (await load(undefined, next.fingerprint, { version: 2, carried })).keyring
    expect(after['blind-index'].equals(before['blind-index'])).toBe(true)
    expect(after.sealing(1)).toBeUndefined()
  })
})
