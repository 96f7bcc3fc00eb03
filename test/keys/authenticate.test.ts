import { createSecretKey } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { REVOKED_WITHIN } from '../../src/contract/revocation.ts'
import { SCOPES } from '../../src/contract/scope.ts'
import { createApiKey, toKeyHash } from '../../src/keys/api-key.ts'
import { createAuthenticate } from '../../src/keys/authenticate.ts'
import type { KeyRow } from '../../src/keys/key-table.ts'
import { withDefaults } from '../../src/keys/options.ts'
import { SANDBOX_KEY } from '../../src/keys/sandbox-key.ts'

const pepper = createSecretKey(Buffer.alloc(32, 1))
const key = createApiKey('live')

function open(row: Partial<KeyRow> = {}) {
  const rows = new Map<string, KeyRow>([
    [
      key.id,
      {
        ...withDefaults({}),
        id: key.id,
        mode: 'live',
        name: 'x',
        hash: toKeyHash(key.text, pepper),
        scopes: SCOPES,
        createdAt: 0,
        expiresAt: undefined,
        revokedAt: undefined,
        rolledTo: undefined,
        lineage: key.id,
        ...row,
      },
    ],
  ])
  // `set` moves the wall clock against the monotonic clock.
  const clock = { now: 1_000_000, set: 0, queries: 0, hashes: 0, fails: false }
  const authenticate = createAuthenticate({
    keys: {
      find: async (id) => {
        clock.queries += 1
        if (clock.fails) throw Object.assign(new Error('store unavailable'), { code: 'ECONNREFUSED' })
        return rows.get(id)
      },
    },
    pepper,
    testKeys: true,
    publicSandboxKey: true,
    now: () => clock.now,
    wallNow: () => clock.now + clock.set,
    toHash: (...given) => {
      clock.hashes += 1
      return toKeyHash(...given)
    },
  })
  return { rows, clock, authenticate }
}

it('does the same work for an unknown key as for a wrong secret, a revoked key and one of the other mode', async () => {
  const { rows, clock, authenticate } = open()
  const workFor = async (text: string) => {
    const [queries, hashes] = [clock.queries, clock.hashes]
    expect(await authenticate(text)).toBeUndefined()
    return [clock.queries - queries, clock.hashes - hashes]
  }
  expect(await workFor(createApiKey('live').text)).toEqual([1, 1])
  expect(await workFor(createApiKey('live', key.id).text)).toEqual([1, 1])
  expect(await workFor(createApiKey('test', key.id).text)).toEqual([1, 1])
  rows.set(key.id, { ...(rows.get(key.id) as KeyRow), revokedAt: 1 })
  expect(await workFor(key.text)).toEqual([1, 1])
})

it('accepts a key that was valid for five minutes as unconfirmed while the store fails', async () => {
  const { clock, authenticate } = open()
  expect((await authenticate(key.text))?.isUnconfirmed).toBeUndefined()
  clock.fails = true
  clock.now += 600
  expect(await authenticate(key.text)).toMatchObject({ keyId: key.id, isUnconfirmed: true })
  await expect(authenticate(createApiKey('live').text)).rejects.toThrow()
  clock.now += 300_000
  await expect(authenticate(key.text)).rejects.toThrow()
  clock.fails = false
  expect((await authenticate(key.text))?.isUnconfirmed).toBeUndefined()
})

it('queries the store once in half a second, and obeys a revocation within a second', async () => {
  const { rows, clock, authenticate } = open()
  for (let count = 0; count < 10; count++) expect((await authenticate(key.text))?.keyId).toBe(key.id)
  expect(clock.queries).toBe(1)
  rows.set(key.id, { ...(rows.get(key.id) as KeyRow), revokedAt: clock.now })
  clock.now += 500
  expect(await authenticate(key.text)).toBeUndefined()
})

it('says how soon a revoked key is refused in the same words everywhere', () => {
  const texts = [
    'README.md',
    'SECURITY.md',
    'docs/keys.md',
    'docs/operation.md',
    'docs/reliability.md',
    'docs/admin-openapi.json',
  ]
  for (const file of texts) expect(readFileSync(file, 'utf8'), file).toContain(REVOKED_WITHIN)
  const all = [...texts, ...globSync(['src/{cli,admin}/keys.ts', 'console/src/pages/keys/*.tsx'])]
  const others = all.filter((file) =>
    /(on others?|other (?:nodes|machines)|[Ss]ervers follow) within|key (?:stops working|at once)/.test(
      readFileSync(file, 'utf8'),
    ),
  )
  expect(others).toEqual([])
})

it('obeys an expiry to the millisecond, cached or not', async () => {
  const { clock, authenticate } = open({ expiresAt: 1_000_010 })
  expect(await authenticate(key.text)).toBeDefined()
  clock.now += 9
  expect(await authenticate(key.text)).toBeDefined()
  clock.now += 1
  expect(await authenticate(key.text)).toBeUndefined()
})

it('does not query the store for malformed keys', async () => {
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
  expect(clock.queries).toBe(0)
})

it('refuses the right id with another secret', async () => {
  const { authenticate, rows } = open()
  const other = createApiKey('live')
  rows.set(other.id, { ...(rows.get(key.id) as KeyRow), id: other.id })
  expect(await authenticate(other.text)).toBeUndefined()
})

it('obeys a revocation within a second while the wall clock is set back', async () => {
  const { rows, clock, authenticate } = open()
  expect(await authenticate(key.text)).toBeDefined()
  clock.set = -86_400_000
  rows.set(key.id, { ...(rows.get(key.id) as KeyRow), revokedAt: clock.now })
  clock.now += 500
  expect(await authenticate(key.text)).toBeUndefined()
})

it('loads a row once for all requests that wait for it', async () => {
  const { clock, authenticate } = open()
  const callers = await Promise.all(Array.from({ length: 100 }, () => authenticate(key.text)))
  expect(callers.every((caller) => caller?.keyId === key.id)).toBe(true)
  clock.now += 500
  const again = await Promise.all(
    Array.from({ length: 100 }, (_each, index) => authenticate(`Bearer${' '.repeat(index + 1)}${key.text}`)),
  )
  expect(again.every((caller) => caller?.keyId === key.id)).toBe(true)
  expect(clock.queries).toBe(2)
})

it('makes the same number of queries for an unknown id and a wrong secret', async () => {
  const { clock, authenticate } = open()
  const wrong = Array.from({ length: 10 }, () => withOtherSecret(key.id))
  const unknown = Array.from({ length: 10 }, () => createApiKey('live').text)
  const count = async (texts: readonly string[]) => {
    const before = clock.queries
    for (const text of texts) expect(await authenticate(text)).toBeUndefined()
    return clock.queries - before
  }
  expect(await authenticate(key.text)).toBeDefined()
  expect([await count(wrong), await count(unknown)]).toEqual([10, 10])
})

it('does not let unknown keys delay keys that were valid before', async () => {
  const waiting: (() => void)[] = []
  const { rows } = open()
  const authenticate = createAuthenticate({
    keys: {
      find: (id) => {
        const row = rows.get(id)
        return row ? Promise.resolve(row) : new Promise((answer) => waiting.push(() => answer(undefined)))
      },
    },
    pepper,
    testKeys: true,
    publicSandboxKey: true,
    now: () => clock.now,
  })
  const clock = { now: 0 }
  expect(await authenticate(key.text)).toBeDefined()
  clock.now += 500
  const refused = Array.from({ length: 20 }, () => authenticate(createApiKey('live').text))
  expect(waiting.length).toBe(4)
  expect(await authenticate(key.text)).toBeDefined()
  while (waiting.length > 0) {
    waiting.shift()?.()
    await new Promise((next) => setImmediate(next))
  }
  expect(await Promise.all(refused)).toEqual(Array.from({ length: 20 }, () => undefined))
})

it.each(['live', 'test'] as const)(
  'refuses a key whose row was changed to another mode: %s',
  async (mode) => {
    const { authenticate } = open({ mode })
    expect((await authenticate(key.text))?.mode).toBe(mode === 'live' ? 'live' : undefined)
  },
)

it.each([
  (text: string) => text,
  (text: string) => `Bearer ${text}`,
  (text: string) => `bearer ${text}`,
  (text: string) => `BEARER   ${text}`,
  (text: string) => ` Bearer ${text} `,
  (text: string) => `Bearer ${text}\t`,
])('takes a key as %s', async (spell) => {
  const { authenticate } = open()
  expect((await authenticate(spell(key.text)))?.keyId).toBe(key.id)
  expect((await authenticate(spell(SANDBOX_KEY)))?.keyId).toBe('sandbox0')
})

it.each([
  (text: string) => `Basic ${text}`,
  (text: string) => `Bearer${text}`,
  (text: string) => `Bearer Bearer ${text}`,
  (text: string) => `Bearer ${text} x`,
  (text: string) => `x Bearer ${text}`,
  (text: string) => `Bearer ${text}\u007f`,
])('does not take a key as %s', async (spell) => {
  const { authenticate, clock } = open()
  expect(await authenticate(spell(key.text))).toBeUndefined()
  expect(await authenticate(spell(SANDBOX_KEY))).toBeUndefined()
  expect(clock.queries).toBe(0)
})

it('accepts the sandbox key and test keys only where they are allowed, without a query for those that are not', async () => {
  const test = createApiKey('test')
  const row = { id: test.id, mode: 'test', hash: toKeyHash(test.text, pepper) } as const
  const { rows, clock } = open()
  rows.set(test.id, { ...(rows.get(key.id) as KeyRow), ...row })
  let queries = 0
  const create = (testKeys: boolean, publicSandboxKey: boolean) =>
    createAuthenticate({
      keys: {
        find: async (id) => {
          queries += 1
          return rows.get(id)
        },
      },
      pepper,
      testKeys,
      publicSandboxKey,
      now: () => clock.now,
      wallNow: () => clock.now,
    })
  const [without, withTest, withSandbox] = [create(false, false), create(true, false), create(false, true)]
  expect([await without(test.text), await without(SANDBOX_KEY), await withTest(SANDBOX_KEY)]).toEqual([
    undefined,
    undefined,
    undefined,
  ])
  expect(queries).toBe(0)
  expect((await withTest(test.text))?.keyId).toBe(test.id)
  expect((await withSandbox(SANDBOX_KEY))?.keyId).toBe('sandbox0')
  expect((await without(key.text))?.keyId).toBe(key.id)
})

describe('while the store fails', () => {
  it('a key is accepted for exactly five minutes after its row is no longer trusted', async () => {
    const { clock, authenticate } = open()
    await authenticate(key.text)
    clock.fails = true
    clock.now += 500 + 299_999
    expect(await authenticate(key.text)).toMatchObject({ isUnconfirmed: true })
    clock.now += 1
    await expect(authenticate(key.text)).rejects.toThrow('store unavailable')
  })

  it('a key ends when it expires', async () => {
    const { clock, authenticate } = open({ expiresAt: 1_000_700 })
    await authenticate(key.text)
    clock.fails = true
    clock.now += 699
    expect(await authenticate(key.text)).toMatchObject({ isUnconfirmed: true })
    clock.now += 1
    await expect(authenticate(key.text)).rejects.toThrow('store unavailable')
  })

  it('a key that was found revoked before is not accepted', async () => {
    const { rows, clock, authenticate } = open()
    await authenticate(key.text)
    rows.set(key.id, { ...(rows.get(key.id) as KeyRow), revokedAt: clock.now })
    clock.now += 500
    expect(await authenticate(key.text)).toBeUndefined()
    clock.fails = true
    await expect(authenticate(key.text)).rejects.toThrow('store unavailable')
  })
})

it('does not accept a known key when the program fails, and not the store', async () => {
  const { rows } = open()
  let fails = false
  let now = 0
  const authenticate = createAuthenticate({
    keys: {
      find: async (id) => {
        if (fails) throw new TypeError('a mistake in the program')
        return rows.get(id)
      },
    },
    pepper,
    testKeys: true,
    publicSandboxKey: true,
    now: () => now,
  })
  expect(await authenticate(key.text)).toBeDefined()
  fails = true
  now += 500
  await expect(authenticate(key.text)).rejects.toThrow('a mistake in the program')
})

describe('the request log', () => {
  const note = async (row: Partial<KeyRow>, text = key.text) => {
    const noted = { unusableKey: undefined }
    await open(row).authenticate(text, noted)
    return noted.unusableKey
  }

  it.each([
    ['revoked', { revokedAt: 5 }],
    ['expired', { expiresAt: 5 }],
  ])('names a key with the right secret that is %s', async (_state, row) => {
    expect(await note(row)).toEqual({ keyId: key.id, mode: 'live' })
    expect(await open(row).authenticate(key.text)).toBeUndefined()
  })

  it('names no key that is valid or unknown, or whose secret is wrong', async () => {
    expect(await note({})).toBeUndefined()
    expect(await note({}, createApiKey('live').text)).toBeUndefined()
    expect(await note({ revokedAt: 5 }, withOtherSecret(key.id))).toBeUndefined()
  })
})

/** A well-formed key with this id and another secret. */
function withOtherSecret(id: string): string {
  for (;;) {
    const text = createApiKey('live', id).text
    if (text !== key.text) return text
  }
}
