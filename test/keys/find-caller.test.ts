import { describe, expect, it } from 'vitest'
import { openFindCaller } from '../../src/keys/authenticate.ts'
import type { KeyRow } from '../../src/keys/key-table.ts'
import { withDefaults } from '../../src/keys/options.ts'

const toRow = (id: string, changes: Partial<KeyRow> = {}): KeyRow => ({
  ...withDefaults({}),
  id,
  name: id,
  mode: 'live',
  scopes: ['kyc:nin'],
  hash: new Uint8Array(),
  createdAt: 0,
  expiresAt: undefined,
  revokedAt: undefined,
  rolledTo: undefined,
  lineage: id,
  ...changes,
})

const PAST = 1000
const FUTURE = Date.now() + 86_400_000

function find(rows: readonly KeyRow[], id: string, sandbox: 'on' | 'off' = 'on') {
  const keys = { find: async (wanted: string) => rows.find((row) => row.id === wanted) }
  const settings = { sandbox } as unknown as Parameters<typeof openFindCaller>[0]
  return openFindCaller(settings, { keys: keys as never })(id).then((caller) => caller?.keyId)
}

describe('work that was accepted for a key', () => {
  it.each<[string, readonly KeyRow[], string | undefined]>([
    ['goes on for a valid key', [toRow('a')], 'a'],
    ['goes on for a key that expires later', [toRow('a', { expiresAt: FUTURE })], 'a'],
    ['ends with a revoked key', [toRow('a', { revokedAt: PAST })], undefined],
    [
      'ends with a revoked key that expires later',
      [toRow('a', { revokedAt: PAST, expiresAt: FUTURE })],
      undefined,
    ],
    ['ends with an expired key', [toRow('a', { expiresAt: PAST })], undefined],
    ['ends with an unknown key', [], undefined],
    [
      'goes on for a rolled key that is still valid',
      [toRow('a', { rolledTo: 'b', expiresAt: FUTURE }), toRow('b')],
      'a',
    ],
    [
      'goes on for the successor of a rolled key that has expired',
      [toRow('a', { rolledTo: 'b', expiresAt: PAST }), toRow('b')],
      'b',
    ],
    [
      'ends with a successor that is revoked',
      [toRow('a', { rolledTo: 'b', expiresAt: PAST }), toRow('b', { revokedAt: PAST })],
      undefined,
    ],
    ['ends with a successor that is missing', [toRow('a', { rolledTo: 'b', expiresAt: PAST })], undefined],
    [
      'ends when keys name each other as successors',
      [toRow('a', { rolledTo: 'b', expiresAt: PAST }), toRow('b', { rolledTo: 'a', expiresAt: PAST })],
      undefined,
    ],
  ])('%s', async (_name, rows, expected) => {
    expect(await find(rows, 'a')).toBe(expected)
  })

  it('ends with a test key when the sandbox is off', async () => {
    expect(await find([toRow('a', { mode: 'test' })], 'a')).toBe('a')
    expect(await find([toRow('a', { mode: 'test' })], 'a', 'off')).toBeUndefined()
    expect(await find([toRow('a')], 'a', 'off')).toBe('a')
  })
})
