import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { outProblem, readReleaseKey } from '../../build/release.ts'

// Never with the folder of the checkout itself: a mistake would delete it.
let place = ''
const toCheckout = () => join(place, 'a/checkout')
beforeAll(() => {
  place = realpathSync(mkdtempSync(join(tmpdir(), 'tabbat-release-')))
  mkdirSync(join(toCheckout(), 'src'), { recursive: true })
  writeFileSync(join(toCheckout(), 'src/main.ts'), '')
})
afterAll(() => rmSync(place, { recursive: true }))

describe('the folder of a release', () => {
  it.each(['a/checkout', 'a', '.', 'link'])('is refused if it has the checkout in it: %s', (path) => {
    if (path === 'link') symlinkSync(toCheckout(), join(place, path))
    expect(outProblem(join(place, path), toCheckout())).toContain('has the checkout in it')
  })

  it('is refused if it has other files', () => {
    expect(outProblem(join(toCheckout(), 'src'), toCheckout())).toContain('is not empty and is no release')
  })

  it('may be new, empty, or that of the last release', () => {
    const out = join(toCheckout(), 'dist')
    expect(outProblem(out, toCheckout())).toBeUndefined()
    mkdirSync(out)
    expect(outProblem(out, toCheckout())).toBeUndefined()
    writeFileSync(join(out, 'SHA256SUMS'), '')
    expect(outProblem(out, toCheckout())).toBeUndefined()
  })
})

describe('the key of a release', () => {
  const write = (path: string, { privateKey }: { privateKey: KeyObject }) => {
    writeFileSync(path, privateKey.export({ type: 'pkcs8', format: 'pem' }))
    return path
  }

  it('is refused in the checkout', () => {
    const file = write(join(toCheckout(), 'release.key'), generateKeyPairSync('ed25519'))
    expect(() => readReleaseKey(file, toCheckout())).toThrow('is in the checkout')
  })

  it('is read from elsewhere, if it is an Ed25519 key', () => {
    const file = write(join(place, 'release.key'), generateKeyPairSync('ed25519'))
    expect(readReleaseKey(file, toCheckout()).asymmetricKeyType).toBe('ed25519')
    const other = write(join(place, 'other.key'), generateKeyPairSync('x25519'))
    expect(() => readReleaseKey(other, toCheckout())).toThrow('is no Ed25519 key')
  })
})
