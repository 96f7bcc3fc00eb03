import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { openKeyring, type RootState, sealCarried } from '../../src/crypto/keyring.ts'
import { createRootKeyText, loadRootKeys, parseRootKey, writeRootKeyFile } from '../../src/crypto/root-key.ts'
import { BrokenSeal, seal, toAssociatedData } from '../../src/crypto/seal.ts'
import { UntrustedPath } from '../../src/crypto/trusted-path.ts'
import { UserError } from '../../src/errors.ts'

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

  it('is derived from as it always was: stored rows could not be opened otherwise', () => {
    const root = parseRootKey('07'.repeat(32), 'the test')
    expect(root.fingerprint).toBe('4795f19bb726d82dede00fe7d4ab517e526dfe37725faca281e0c5f586cf50a2')
    expect(root.derive('record').export().toString('hex')).toBe(
      'ced3e4b7c8122ba1cd5b387a14e86bbeff063176a440d3b8ac4ef82fdc84f65a',
    )
  })

  it('is taken from the settings with the previous one', async () => {
    const [present, previous] = [createRootKeyText(), createRootKeyText()]
    const settings = { rootKey: present, rootKeyPrevious: previous, rootKeyCommand: undefined, dataDir }
    const { candidates, origin, where } = await loadRootKeys(settings, false)
    const expected = [present, previous].map((text) => parseRootKey(text, '').fingerprint)
    expect(candidates.map(({ fingerprint }) => fingerprint)).toEqual(expected)
    expect([origin, where]).toEqual(['setting', 'TABBAT_ROOT_KEY'])
  })

  it('in a file that cannot be read, or that others can read, is not replaced by a new one', async () => {
    const path = join(dataDir, 'root.key')
    writeFileSync(path, createRootKeyText(), { mode: 0o600 })
    chmodSync(path, 0o644)
    await expect(load()).rejects.toThrow(UntrustedPath)
    rmSync(path)
    mkdirSync(path)
    await expect(load()).rejects.toThrow(
      new UserError(`The root key file ${path} cannot be read. Check its permissions.`),
    )
  })

  it('is not made in a folder that others can write to', async () => {
    chmodSync(dataDir, 0o777)
    await expect(load()).rejects.toThrow(UntrustedPath)
    expect(readdirSync(dataDir)).toEqual([])
  })

  it('is the same for processes that make it at once', async () => {
    const made = await Promise.all([load(), load(), load()])
    expect(new Set(made.map(({ fingerprint }) => fingerprint)).size).toBe(1)
  })

  it.each([31, 33])('of %i bytes is refused, and the message says where it is', (length) => {
    const parse = (encoding: 'hex' | 'base64') => () =>
      parseRootKey(Buffer.alloc(length, 1).toString(encoding), 'the output of x')
    for (const encoding of ['hex', 'base64'] as const)
      expect(parse(encoding)).toThrow(
        new UserError(
          'The output of x must hold 32 bytes as base64 or hex. Make one with: openssl rand -base64 32',
        ),
      )
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
    const renewed = PURPOSES.filter((purpose) => !during[purpose].equals(before[purpose]))
    expect(renewed).toEqual(['media-url'])
    expect(during['media-url'].equals(next.derive('media-url'))).toBe(true)
    expect(during.sealing(1)?.equals(before.sealing(1) as never)).toBe(true)
    expect(during.sealing(2)?.equals(before.sealing(1) as never)).toBe(false)
    writeRootKeyFile(path, [newText])
    await expect(load(undefined, next.fingerprint, state)).rejects.toThrow(
      /rotation of the root key is running/,
    )
    const after = (await load(undefined, next.fingerprint, { version: 2, carried })).keyring
    expect(after['blind-index'].equals(before['blind-index'])).toBe(true)
    expect(after.sealing(1)).toBeUndefined()
    await expect(load(undefined, next.fingerprint, { version: 3, carried })).rejects.toThrow(BrokenSeal)
  })
})

/** Their names are part of the derivation, and of what a rotation carries over. */
const PURPOSES = [
  'api-key-pepper',
  'blind-index',
  'subject',
  'digest',
  'media-url',
  'idempotency',
  'audit-signing',
  'reuse',
  'reuse-index',
  'console-password',
  'console-token',
  'webhook-secret',
  'queue',
  'request-id',
  'second-factor',
  'revocation',
  'erasure',
] as const

describe('the keyring', () => {
  const root = parseRootKey('07'.repeat(32), 'the test')
  const rootKeys = { candidates: [root], origin: 'setting', where: 'TABBAT_ROOT_KEY' } as const
  const state: RootState = {
    fingerprint: root.fingerprint,
    version: 1,
    previousFingerprint: undefined,
    carried: undefined,
  }

  it('has a key of its own for each purpose', () => {
    const { version, sealing, ...keys } = openKeyring(rootKeys, state)
    expect(Object.keys(keys)).toEqual(PURPOSES)
    for (const purpose of PURPOSES) expect(keys[purpose].equals(root.derive(purpose)), purpose).toBe(true)
    const all = [...Object.values(keys), sealing(version)].map((key) => key?.export().toString('hex'))
    expect(new Set(all).size).toBe(PURPOSES.length + 1)
  })

  it('derives a purpose that the last rotation did not know from the present root', () => {
    const old = openKeyring(rootKeys, state)
    const next = parseRootKey('08'.repeat(32), 'the test')
    const plain = { subject: old.subject.export().toString('base64') }
    const bound = toAssociatedData('carried', Buffer.alloc(0), 2)
    const carried = seal(next.derive('carry'), Buffer.from(JSON.stringify(plain)), bound).toString('base64')
    const present = { ...state, fingerprint: next.fingerprint, version: 2, carried }
    const opened = openKeyring({ ...rootKeys, candidates: [next] }, present)
    expect(opened.subject.equals(old.subject)).toBe(true)
    expect(opened.erasure.equals(next.derive('erasure'))).toBe(true)
  })
})
