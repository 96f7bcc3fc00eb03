import { createSecretKey, randomBytes } from 'node:crypto'
import { expect, it } from 'vitest'
import type { Keyring } from '../../src/crypto/keyring.ts'
import { createReuse } from '../../src/verification/reuse.ts'

const keyring = {
  reuse: createSecretKey(randomBytes(32)),
  'reuse-index': createSecretKey(randomBytes(32)),
} as unknown as Keyring
const RESULT = { record: { nin_number: '41000000001' }, source: 'dojah' }

/** Results in memory, by the keyed hash of the person. */
function open() {
  const rows = new Map<string, Uint8Array>()
  const times: number[] = []
  const table = {
    find: async (subject: Uint8Array, now: number) => {
      times.push(now)
      return rows.get(Buffer.from(subject).toString('hex'))
    },
  }
  const reuse = createReuse(table as never, keyring, 5000, () => 1000)
  const keep = (kind: 'nin' | 'bvn', number: string) => {
    const kept = reuse.toKept(kind, number, RESULT)
    rows.set(Buffer.from(kept.subject).toString('hex'), kept.sealed)
    return kept
  }
  return { reuse, keep, times }
}

it('a result is found for the same number and kind, until its life is over', async () => {
  const { reuse, keep, times } = open()
  const { sealed, expiresAt, subject } = keep('nin', '41000000001')
  expect(expiresAt).toBe(6000)
  expect(subject).toHaveLength(32)
  expect(Buffer.from(sealed).includes('41000000001')).toBe(false)
  expect(await reuse.find('nin', '41000000001')).toEqual(RESULT)
  expect(await reuse.find('bvn', '41000000001')).toBeUndefined()
  expect(await reuse.find('nin', '41000000002')).toBeUndefined()
  expect(times).toEqual([1000, 1000, 1000])
})

it('a result that was moved to another person cannot be opened', async () => {
  const { sealed } = open().keep('nin', '41000000001')
  const moved = createReuse({ find: async () => sealed } as never, keyring, 5000)
  await expect(moved.find('nin', '41000000002')).rejects.toThrow()
})
