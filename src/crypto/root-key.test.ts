import { existsSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { loadRootKey } from './root-key.ts'

let dataDir: string
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'tabbat-root-'))
})

const load = (rootKey?: string, expected?: string) => loadRootKey({ rootKey, dataDir, expected })

describe('the root key', () => {
  it('is made on the first run, readable by its owner alone, and found again', () => {
    const first = load()
    expect(first.origin).toBe('file')
    expect(statSync(join(dataDir, 'root.key')).mode & 0o777).toBe(0o600)
    expect(readdirSync(dataDir)).toEqual(['root.key'])
    expect(load(undefined, first.keys.fingerprint).keys.fingerprint).toBe(first.keys.fingerprint)
  })

  it('is taken from the settings as hex or base64', () => {
    const bytes = Buffer.alloc(32, 7)
    expect(load(bytes.toString('hex')).keys.fingerprint).toBe(load(bytes.toString('base64')).keys.fingerprint)
    expect(existsSync(join(dataDir, 'root.key'))).toBe(false)
  })

  it('is refused when it is not the one of this database', () => {
    const { fingerprint } = load().keys
    expect(() => load(Buffer.alloc(32, 1).toString('hex'), fingerprint)).toThrow(
      /TABBAT_ROOT_KEY.*not the one/,
    )
  })

  it('is not made anew when the database was made with one', () => {
    const { fingerprint } = load().keys
    rmSync(join(dataDir, 'root.key'))
    expect(() => load(undefined, fingerprint)).toThrow(/root key is missing/)
    expect(existsSync(join(dataDir, 'root.key'))).toBe(false)
  })

  it('is refused when it is too short, without being repeated', () => {
    writeFileSync(join(dataDir, 'root.key'), 'c2hvcnQ=')
    expect(() => load()).toThrow(/must hold 32 bytes/)
    expect(() => load('hunter2')).not.toThrow(/hunter2/)
  })
})
