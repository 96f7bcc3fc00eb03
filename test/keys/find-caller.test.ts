import { describe, expect, it, onTestFinished, vi } from 'vitest'
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

  it.each([
    ['on', '0.0.0.0', 'sandbox0'],
    ['off', '127.0.0.1', undefined],
    [undefined, '127.0.0.1', 'sandbox0'],
    [undefined, '0.0.0.0', undefined],
  ] as const)(
    'of the public sandbox: with TABBAT_SANDBOX %s on %s it is %s',
    async (sandbox, host, expected) => {
      const keys = { find: async () => undefined }
      expect((await openFindCaller({ sandbox, host }, { keys })('sandbox0'))?.keyId).toBe(expected)
    },
  )

  it.each([
    [100, 'last'],
    [101, undefined],
  ])('follows a hundred rolls: %i', async (rolls, expected) => {
    const chain = Array.from({ length: rolls }, (_, index) =>
      toRow(`${index}`, { expiresAt: PAST, rolledTo: index === rolls - 1 ? 'last' : `${index + 1}` }),
    )
    expect(await find([...chain, toRow('last')], '0')).toBe(expected)
  })

  it('ends with the millisecond in which a key expires', async () => {
    vi.useFakeTimers({ toFake: ['performance', 'Date'], now: FUTURE })
    onTestFinished(() => void vi.useRealTimers())
    expect(await find([toRow('a', { expiresAt: FUTURE + 1 })], 'a')).toBe('a')
    expect(await find([toRow('a', { expiresAt: FUTURE })], 'a')).toBeUndefined()
  })

  it('ends with a test key when the sandbox is off', async () => {
    expect(await find([toRow('a', { mode: 'test' })], 'a')).toBe('a')
    expect(await find([toRow('a', { mode: 'test' })], 'a', 'off')).toBeUndefined()
    expect(await find([toRow('a')], 'a', 'off')).toBe('a')
  })
})
