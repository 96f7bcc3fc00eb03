import { existsSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { openKeyring, type RootState, sealCarried } from './keyring.ts'
import { createRootKeyText, loadRootKeys, parseRootKey, writeRootKeyFile } from './root-key.ts'

let dataDir: string
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'tabbat-root-'))
})

function load(rootKey?: string, expected?: string, more: Partial<RootState> = {}) {
  const rootKeys = loadRootKeys({ rootKey, rootKeyPrevious: undefined, dataDir }, expected === undefined)
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
  it('is made on the first run, readable by its owner alone, and found again', () => {
    const first = load()
    expect(first.origin).toBe('file')
    expect(statSync(join(dataDir, 'root.key')).mode & 0o777).toBe(0o600)
    expect(readdirSync(dataDir)).toEqual(['root.key'])
    expect(load(undefined, first.fingerprint).fingerprint).toBe(first.fingerprint)
  })

  it('is taken from the settings as hex or base64', () => {
    const bytes = Buffer.alloc(32, 7)
    expect(load(bytes.toString('hex')).fingerprint).toBe(load(bytes.toString('base64')).fingerprint)
    expect(existsSync(join(dataDir, 'root.key'))).toBe(false)
  })

  it('is refused when it is not the one of this database', () => {
    const { fingerprint } = load()
    expect(() => load(Buffer.alloc(32, 1).toString('hex'), fingerprint)).toThrow(
      /TABBAT_ROOT_KEY.*not the one/,
    )
  })

  it('is not made anew when the database was made with one', () => {
    const { fingerprint } = load()
    rmSync(join(dataDir, 'root.key'))
    expect(() => load(undefined, fingerprint)).toThrow(/root key is missing/)
    expect(existsSync(join(dataDir, 'root.key'))).toBe(false)
  })

  it('is refused when it is too short, without being repeated', () => {
    writeFileSync(join(dataDir, 'root.key'), 'c2hvcnQ=', { mode: 0o600 })
    expect(() => load()).toThrow(/must hold 32 bytes/)
    expect(() => load('hunter2')).not.toThrow(/hunter2/)
  })

  it('opens both versions while a rotation is under way, and carries over what was hashed', () => {
    const path = join(dataDir, 'root.key')
    const [oldText, newText] = [createRootKeyText(), createRootKeyText()]
    const [old, next] = [parseRootKey(oldText, path), parseRootKey(newText, path)]
    writeRootKeyFile(path, [oldText])
    const before = load(undefined, old.fingerprint).keyring
    const carried = sealCarried(before, next, 2)
    writeRootKeyFile(path, [newText, oldText])
    const state = { version: 2, previousFingerprint: old.fingerprint, carried }
    const during = load(undefined, next.fingerprint, state).keyring
    expect(during['api-key-pepper'].equals(before['api-key-pepper'])).toBe(true)
    expect(during.sealing(1)?.equals(before.sealing(1) as never)).toBe(true)
    expect(during.sealing(2)?.equals(before.sealing(1) as never)).toBe(false)
    writeRootKeyFile(path, [newText])
    expect(() => load(undefined, next.fingerprint, state)).toThrow(/rotation of the root key is running/)
    const after = load(undefined, next.fingerprint, { version: 2, carried }).keyring
    expect(after['blind-index'].equals(before['blind-index'])).toBe(true)
    expect(after.sealing(1)).toBeUndefined()
  })
})
