import { createSecretKey } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { AuditEntry } from '../../src/audit/row.ts'
import { DAY_MS } from '../../src/contract/time.ts'
import { UserError } from '../../src/errors.ts'
import { parseApiKey, toKeyHash } from '../../src/keys/api-key.ts'
import type { KeyRow } from '../../src/keys/key-table.ts'
import {
  changeKey,
  createKey,
  type KeyDeps,
  type KeyOptions,
  revokeKey,
  rollKey,
  toGrantedText,
  toKeyState,
  toKeyView,
} from '../../src/keys/manage.ts'

// Later than the clock of the machine: the time of a process never goes back.
const NOW = Date.parse('2051-03-04T05:06:07.008Z')
beforeEach(() => void vi.useFakeTimers({ toFake: ['Date', 'performance'], now: NOW }))
afterEach(() => void vi.useRealTimers())

const pepper = createSecretKey(Buffer.alloc(32, 1))
const OPTIONS: KeyOptions = {
  name: 'Shop',
  mode: 'live',
  scopes: ['kyc:nin'],
  expiresAt: undefined,
}

/** Keys in memory, and what was done, in order. */
function open() {
  const rows = new Map<string, KeyRow>()
  const steps: string[] = []
  const entries: AuditEntry[] = []
  const refusals = { isChanged: false, rollError: undefined as Error | undefined }
  const keys = {
    find: async (id: string) => rows.get(id),
    insert: async (row: KeyRow) => {
      steps.push('insert')
      rows.set(row.id, row)
    },
    change: async (_before: KeyRow, after: KeyRow) => {
      steps.push('change')
      if (refusals.isChanged) return false
      rows.set(after.id, after)
      return true
    },
    revoke: async (id: string, at: number) => {
      steps.push(`revoke at ${at}`)
      rows.set(id, { ...(rows.get(id) as KeyRow), revokedAt: at })
      return true
    },
    roll: async (before: KeyRow, successor: KeyRow, endsAt: number) => {
      steps.push(`roll, ends at ${endsAt}`)
      if (refusals.rollError) throw refusals.rollError
      rows.set(successor.id, successor)
      rows.set(before.id, { ...before, rolledTo: successor.id, expiresAt: endsAt })
    },
  }
  const deps = {
    store: { keys },
    keyring: { 'api-key-pepper': pepper },
    audit: {
      record: async (recorded: readonly AuditEntry[]) => {
        entries.push(...recorded)
        steps.push(...recorded.map(({ phase, outcome }) => `${phase} ${outcome}`))
      },
    },
  } as unknown as KeyDeps
  const create = async (options: Partial<KeyOptions> = {}) => {
    const created = await createKey(deps, { ...OPTIONS, ...options })
    steps.length = 0
    entries.length = 0
    return created.row
  }
  return { rows, deps, steps, entries, refusals, create }
}

describe('a key that is created', () => {
  it('is recorded before it is stored, and its secret is not stored', async () => {
    const { deps, rows, steps, entries } = open()
    const { text, row } = await createKey(deps, { ...OPTIONS, expiresAt: NOW + DAY_MS, owner: 'Risk' })
    expect(steps).toEqual(['key_created ok', 'insert'])
    expect(entries[0]).toEqual({
      phase: 'key_created',
      key_id: row.id,
      mode: 'live',
      outcome: 'ok',
      detail: toGrantedText(row),
    })
    expect(parseApiKey(text)).toMatchObject({ id: row.id, mode: 'live' })
    expect(row.hash).toEqual(toKeyHash(text, pepper))
    expect(rows.get(row.id)).toBe(row)
    expect(row).toMatchObject({
      createdAt: NOW,
      expiresAt: NOW + DAY_MS,
      lifetimeMs: DAY_MS,
      revokedAt: undefined,
      rolledTo: undefined,
      lineage: row.id,
      owner: 'Risk',
    })
  })

  it('is not stored when it cannot be recorded', async () => {
    const { deps, rows } = open()
    const audit = { record: () => Promise.reject(new Error('the log is full')) }
    await expect(createKey({ ...deps, audit }, OPTIONS)).rejects.toThrow('the log is full')
    expect(rows.size).toBe(0)
  })
})

describe('a key that is changed', () => {
  it('is recorded with what differs, before and after, and then stored', async () => {
    const { deps, rows, steps, entries, create } = open()
    const row = await create()
    const after = await changeKey(deps, row.id, { name: 'Market', allowedIps: ['10.0.0.1'] })
    expect(steps).toEqual(['key_changed ok', 'change'])
    expect(entries[0]?.detail).toBe(
      'changed {"name":{"from":"Shop","to":"Market"},"allowed_ips":{"from":null,"to":["10.0.0.1"]}}',
    )
    expect(after).toEqual({ ...row, name: 'Market', allowedIps: ['10.0.0.1'] })
    expect(rows.get(row.id)).toBe(after)
  })

  it('has the lifetime of the expiry that is given, and else keeps its own', async () => {
    const { deps, create } = open()
    const { id } = await create({ expiresAt: NOW + DAY_MS })
    expect((await changeKey(deps, id, { name: 'A' })).lifetimeMs).toBe(DAY_MS)
    vi.setSystemTime(NOW + 1000)
    expect((await changeKey(deps, id, { expiresAt: NOW + 5000 })).lifetimeMs).toBe(4000)
    const endless = await changeKey(deps, id, { expiresAt: undefined })
    expect(endless).toMatchObject({ expiresAt: undefined, lifetimeMs: undefined })
  })

  it.each([
    ['unknown', 'There is no key Zzzzzzz9.', (_row: KeyRow) => 'Zzzzzzz9', {}],
    ['revoked', 'has ended', (row: KeyRow) => row.id, { revokedAt: 1 }],
    ['expired', 'has ended', (row: KeyRow) => row.id, { expiresAt: NOW }],
    ['rolled', 'Change its successor Abcd1234', (row: KeyRow) => row.id, { rolledTo: 'Abcd1234' }],
  ])('is refused when it is %s', async (_state, message, toId, state) => {
    const { deps, rows, steps, create } = open()
    const row = await create()
    rows.set(row.id, { ...row, ...state })
    await expect(changeKey(deps, toId(row), { name: 'Market' })).rejects.toThrow(message)
    expect(steps).toEqual([])
  })

  it('to what it is already is refused', async () => {
    const { deps, steps, create } = open()
    const { id } = await create()
    await expect(changeKey(deps, id, { name: 'Shop' })).rejects.toThrow(UserError)
    expect(steps).toEqual([])
  })

  it('by another at the same time is recorded as refused', async () => {
    const { deps, refusals, steps, create } = open()
    const { id } = await create()
    refusals.isChanged = true
    await expect(changeKey(deps, id, { name: 'Market' })).rejects.toThrow('changed by another meanwhile')
    expect(steps).toEqual(['key_changed ok', 'change', 'key_changed refused'])
  })
})

describe('a key that is revoked', () => {
  it('is recorded with its name before it ends', async () => {
    const { deps, steps, entries, create } = open()
    const { id } = await create()
    await revokeKey(deps, id)
    expect(steps).toEqual(['key_revoked ok', `revoke at ${NOW}`])
    expect(entries[0]?.detail).toBe('{"name":"Shop"}')
    await expect(revokeKey(deps, id)).rejects.toThrow('was revoked before')
    expect(steps).toHaveLength(2)
  })

  it('must exist, and a whole key that is pasted is not repeated', async () => {
    const { deps, steps } = open()
    await expect(revokeKey(deps, 'Abcd1234')).rejects.toThrow('There is no key Abcd1234.')
    await expect(revokeKey(deps, 'tbt_live_Abcd1234')).rejects.toThrow('There is no key with this id.')
    expect(steps).toEqual([])
  })
})

describe('a key that is rolled', () => {
  it('has a successor with its rights and its lineage, and ends after the overlap', async () => {
    const { deps, rows, steps, entries, create } = open()
    const old = await create({ allowedIps: ['10.0.0.1'], note: 'a note' })
    const { text, row } = await rollKey(deps, old.id, 5000)
    expect(steps).toEqual(['key_rolled ok', `roll, ends at ${NOW + 5000}`])
    expect(entries[0]).toMatchObject({
      key_id: old.id,
      detail: `successor ${row.id} ${toGrantedText(row)}; ends at 2051-03-04T05:06:12.008Z`,
    })
    expect(row).toEqual({ ...old, id: row.id, hash: toKeyHash(text, pepper) })
    expect(rows.get(old.id)).toMatchObject({ rolledTo: row.id })
  })

  it('has a successor with the lifetime that it was made for, also where only its age at its end is known', async () => {
    const { deps, rows, create } = open()
    const old = await create({ expiresAt: NOW + DAY_MS })
    vi.setSystemTime(NOW + 1000)
    const { row } = await rollKey(deps, old.id, 0)
    expect(row).toMatchObject({ expiresAt: NOW + 1000 + DAY_MS, lifetimeMs: DAY_MS })
    rows.set('older', { ...old, id: 'older', lifetimeMs: undefined, createdAt: NOW - 500 })
    const { row: next } = await rollKey(deps, 'older', 0)
    expect(next).toMatchObject({ expiresAt: NOW + 1500 + DAY_MS, lifetimeMs: DAY_MS + 500 })
  })

  it('has a successor with the expiry that is given, or without one', async () => {
    const { deps, create } = open()
    const [one, other] = [
      await create({ expiresAt: NOW + DAY_MS }),
      await create({ expiresAt: NOW + DAY_MS }),
    ]
    const given = await rollKey(deps, one.id, 0, { expiresAt: NOW + 7000 })
    expect(given.row).toMatchObject({ expiresAt: NOW + 7000, lifetimeMs: 7000 })
    const endless = await rollKey(deps, other.id, 0, { expiresAt: undefined })
    expect(endless.row).toMatchObject({ expiresAt: undefined, lifetimeMs: undefined })
  })

  it.each([
    ['revoked', 'has ended', { revokedAt: 1 }],
    ['revoked, with an expiry', 'has ended', { revokedAt: 1, expiresAt: NOW + 1 }],
    ['expired', 'has ended', { expiresAt: NOW }],
    ['rolled', 'its successor is Abcd1234', { rolledTo: 'Abcd1234', expiresAt: NOW + 1 }],
  ])('is refused when it is %s', async (_state, message, state) => {
    const { deps, rows, steps, create } = open()
    const row = await create()
    rows.set(row.id, { ...row, ...state })
    await expect(rollKey(deps, row.id, 0)).rejects.toThrow(message)
    expect(steps).toEqual([])
  })

  it('must exist', async () => {
    await expect(rollKey(open().deps, 'Abcd1234', 0)).rejects.toThrow('There is no key Abcd1234.')
  })

  it('is recorded as refused when the store refuses it, and as failed when the store fails', async () => {
    const { deps, refusals, steps, create } = open()
    const { id } = await create()
    refusals.rollError = new UserError('changed meanwhile')
    await expect(rollKey(deps, id, 0)).rejects.toThrow('changed meanwhile')
    refusals.rollError = new Error('the disk is full')
    await expect(rollKey(deps, id, 0)).rejects.toThrow('the disk is full')
    const roll = `roll, ends at ${NOW}`
    expect(steps).toEqual([
      ...['key_rolled ok', roll, 'key_rolled refused'],
      ...['key_rolled ok', roll, 'key_rolled failed'],
    ])
  })
})

describe('the view of a key', () => {
  it.each([
    ['active', {}],
    ['active', { expiresAt: NOW + 1 }],
    ['expired', { expiresAt: NOW }],
    ['revoked', { revokedAt: NOW }],
    ['revoked', { revokedAt: NOW, expiresAt: NOW - 1 }],
  ] as const)('says %s', async (state, changes) => {
    const row = { ...(await open().create()), ...changes }
    expect(toKeyState(row)).toBe(state)
    expect(toKeyView(row).state).toBe(state)
  })

  it('has its times, and null for those that it does not have', async () => {
    const row = await open().create()
    expect(toKeyView(row)).toMatchObject({
      created_at: '2051-03-04T05:06:07.008Z',
      expires_at: null,
      revoked_at: null,
      rolled_to: null,
    })
    const ended = { ...row, expiresAt: 0, revokedAt: 1000, rolledTo: 'Abcd1234' }
    expect(toKeyView(ended)).toMatchObject({
      expires_at: '1970-01-01T00:00:00.000Z',
      revoked_at: '1970-01-01T00:00:01.000Z',
      rolled_to: 'Abcd1234',
    })
  })

  it('in the audit log has the options that are used', async () => {
    const row = await open().create()
    expect(toGrantedText(row)).toBe('granted {"name":"Shop","scopes":["kyc:nin"],"subjects_per_day":2000}')
    const used = { ...row, requiresConsent: true, hide: ['religion'], expiresAt: NOW }
    expect(toGrantedText(used)).toBe(
      'granted {"name":"Shop","scopes":["kyc:nin"],"expires_at":"2051-03-04T05:06:07.008Z","hide":["religion"],"subjects_per_day":2000,"requires_consent":true}',
    )
  })
})

describe('a change that the database fails to make', () => {
  it('has a second audit row that says so', async () => {
    const { deps, entries, create } = open()
    const { id } = await create()
    const fail = async () => {
      throw new Error('the disk is full')
    }
    const failing = {
      ...deps,
      store: { keys: { ...deps.store.keys, insert: fail, change: fail, revoke: fail, roll: fail } },
    }
    const changes = [
      () => createKey(failing, OPTIONS),
      () => changeKey(failing, id, { name: 'Other' }),
      () => revokeKey(failing, id),
      () => rollKey(failing, id, DAY_MS),
    ]
    for (const change of changes) await expect(change()).rejects.toThrow('the disk is full')
    expect(entries.map(({ phase, outcome }) => `${phase} ${outcome}`)).toEqual(
      ['key_created', 'key_changed', 'key_revoked', 'key_rolled'].flatMap((phase) => [
        `${phase} ok`,
        `${phase} failed`,
      ]),
    )
  })
})
