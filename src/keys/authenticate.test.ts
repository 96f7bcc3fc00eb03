import { createSecretKey } from 'node:crypto'
import { expect, it } from 'vitest'
import type { KeyRow } from '../store/key-table.ts'
import { createApiKey, SCOPES, toKeyHash } from './api-key.ts'
import { createAuthenticate } from './authenticate.ts'

const pepper = createSecretKey(Buffer.alloc(32, 1))
const key = createApiKey('live')

function open(row: Partial<KeyRow> = {}) {
  const rows = new Map<string, KeyRow>([
    [
      key.id,
      {
        id: key.id,
        mode: 'live',
        name: 'x',
        hash: toKeyHash(key.text, pepper),
        scopes: SCOPES,
        allowedIps: undefined,
        createdAt: 0,
        expiresAt: undefined,
        revokedAt: undefined,
        rolledTo: undefined,
        lineage: key.id,
        hide: [],
        reveal: [],
        subjectsPerDay: undefined,
        requiresConsent: false,
        ...row,
      },
    ],
  ])
  const clock = { now: 1_000_000, looks: 0 }
  const authenticate = createAuthenticate({
    keys: {
      find: async (id) => {
        clock.looks += 1
        return rows.get(id)
      },
    },
    pepper,
    testKeys: true,
    publicSandboxKey: true,
    now: () => clock.now,
  })
  return { rows, clock, authenticate }
}

it('asks the store once in half a second, and obeys a revocation within a second', async () => {
  const { rows, clock, authenticate } = open()
  for (let count = 0; count < 10; count++) expect((await authenticate(key.text))?.keyId).toBe(key.id)
  expect(clock.looks).toBe(1)
  rows.set(key.id, { ...(rows.get(key.id) as KeyRow), revokedAt: clock.now })
  clock.now += 500
  expect(await authenticate(key.text)).toBeUndefined()
})

it('obeys an expiry to the millisecond, cached or not', async () => {
  const { clock, authenticate } = open({ expiresAt: 1_000_010 })
  expect(await authenticate(key.text)).toBeDefined()
  clock.now += 9
  expect(await authenticate(key.text)).toBeDefined()
  clock.now += 1
  expect(await authenticate(key.text)).toBeUndefined()
})

it('does not touch the store for what cannot be a key', async () => {
  const { clock, authenticate } = open()
  for (const text of [
    undefined,
    '',
    'Bearer',
    'x',
    `${key.text}x`,
    key.text.slice(0, -1),
    key.text.toLowerCase(),
  ])
    expect(await authenticate(text)).toBeUndefined()
  expect(clock.looks).toBe(0)
})

it('refuses the right id with another secret', async () => {
  const { authenticate, rows } = open()
  const other = createApiKey('live')
  rows.set(other.id, { ...(rows.get(key.id) as KeyRow), id: other.id })
  expect(await authenticate(other.text)).toBeUndefined()
})
