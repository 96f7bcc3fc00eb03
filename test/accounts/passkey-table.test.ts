import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { PasskeyRow } from '../../src/accounts/passkey-table.ts'
import type { Store } from '../../src/context/store.ts'
import { describeEngines, ENGINES } from '../engines.ts'

const NOW = Date.now()

describeEngines(ENGINES, (engine) => {
  let store: Store
  beforeAll(async () => {
    store = await (await engine.createPlace()).open()
  })
  afterAll(() => store.close())

  const newId = () => randomBytes(16).toString('base64url')
  const newName = () => `p-${randomBytes(6).toString('hex')}`

  /** An account without a password, and a session. */
  async function makeAccount(): Promise<{ account: string; session: Buffer }> {
    const [account, session] = [newName(), randomBytes(32)]
    await store.identities.create({ id: newId(), name: account, role: 'viewer', at: NOW })
    await store.accounts.open({ id: session, account, password: '', at: NOW })
    return { account, session }
  }

  const toPasskey = (account: string, values: Partial<PasskeyRow> = {}): PasskeyRow => ({
    id: newId(),
    account,
    name: 'work laptop',
    host: 'console.example.com',
    publicKey: Buffer.alloc(77, 9),
    counter: 0,
    transports: ['internal', 'hybrid'],
    createdAt: NOW,
    lastUsedAt: undefined,
    ...values,
  })

  const add = (passkey: PasskeyRow, session: Uint8Array, challenge = newId()) =>
    store.passkeys.add({
      passkey,
      recoveryHashes: ['a', 'b'],
      session,
      challenge,
      expiresAt: NOW + 300_000,
    })

  const toUse = (id: string, counter: number, challenge = newId()) => ({
    id,
    counter,
    challenge,
    expiresAt: NOW + 300_000,
    at: NOW + 5,
  })

  describe('passkeys', () => {
    it('are found as they were added, and listed by account', async () => {
      const { account, session } = await makeAccount()
      const passkey = toPasskey(account)
      expect(await add(passkey, session)).toEqual({ hasNewCodes: true })
      expect(await add(toPasskey(account, { createdAt: NOW + 1 }), session)).toEqual({ hasNewCodes: false })
      const found = await store.passkeys.find(passkey.id)
      expect({ ...found, publicKey: Buffer.from(found?.publicKey ?? []).toString('hex') }).toEqual({
        ...passkey,
        publicKey: '09'.repeat(77),
      })
      expect((await store.passkeys.list(account)).map(({ id }) => id)[0]).toBe(passkey.id)
      expect(await store.factors.find(account)).toEqual({ totp: undefined, passkeys: 2, recoveryCodes: 2 })
      expect((await store.factors.listAccounts()).has(account)).toBe(true)
      await expect(add(passkey, session)).rejects.toThrow('in use already')
    })

    it('accept the answer to a challenge once, of many at the same time', async () => {
      const { account, session } = await makeAccount()
      const passkey = toPasskey(account)
      await add(passkey, session)
      const use = toUse(passkey.id, 0)
      const results = await Promise.all(Array.from({ length: 8 }, () => store.passkeys.use(use)))
      expect(results.filter(Boolean).length).toBe(1)
      expect((await store.passkeys.find(passkey.id))?.lastUsedAt).toBe(NOW + 5)
    })

    it('are added once with a challenge, of many at the same time', async () => {
      const { account, session } = await makeAccount()
      const challenge = newId()
      const all = Array.from({ length: 8 }, () => add(toPasskey(account), session, challenge))
      expect((await Promise.all(all)).filter((added) => added !== undefined)).toHaveLength(1)
      const [{ id = '' } = {}] = await store.passkeys.list(account)
      await store.passkeys.remove(account, id, false)
      expect(await add(toPasskey(account, { id }), session, challenge)).toBeUndefined()
    })

    it('are not added by a session that has ended meanwhile', async () => {
      const { account, session } = await makeAccount()
      await store.accounts.end(session)
      await expect(add(toPasskey(account), session)).rejects.toThrow('Your session has ended')
      expect(await store.passkeys.list(account)).toEqual([])
    })

    it('open no session after they were removed', async () => {
      const { account, session } = await makeAccount()
      const passkey = toPasskey(account)
      await add(passkey, session)
      const open = () =>
        store.accounts.open({
          ...{ id: randomBytes(32), account, password: '', at: NOW },
          details: { method: 'passkey', address: undefined, browser: undefined },
          factor: { passkey: passkey.id },
        })
      expect(await open()).toBeUndefined()
      await store.passkeys.remove(account, passkey.id, false)
      expect(await open()).toBe('wrong_passkey')
    })

    it('of two second factors removed at the same moment, one stays if one is required', async () => {
      const { account, session } = await makeAccount()
      const [one, two] = [toPasskey(account), toPasskey(account)]
      await add(one, session)
      await add(two, session)
      const at = { account, sealed: Buffer.alloc(48), step: 5, at: NOW, recoveryHashes: [], session }
      await store.factors.addTotp(at)
      const results = await Promise.allSettled([
        store.passkeys.remove(account, one.id, true),
        store.factors.removeTotp(account, true),
        store.passkeys.remove(account, two.id, true),
      ])
      const refused = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []))
      expect(refused.map(({ message }) => message)).toEqual([expect.stringContaining('the last one')])
      const { totp, passkeys, recoveryCodes } = await store.factors.find(account)
      expect([(totp ? 1 : 0) + passkeys, recoveryCodes]).toEqual([1, 2])
    })

    it('are refused when their counter does not grow', async () => {
      const { account, session } = await makeAccount()
      const passkey = toPasskey(account, { counter: 5 })
      await add(passkey, session)
      const uses = []
      for (const counter of [5, 0, 6, 6, 7]) uses.push(await store.passkeys.use(toUse(passkey.id, counter)))
      expect(uses).toEqual([false, false, true, false, true])
    })

    it('are at most 20', async () => {
      const { account, session } = await makeAccount()
      for (let count = 0; count < 20; count++) await add(toPasskey(account), session)
      await expect(add(toPasskey(account), session)).rejects.toThrow('at most 20')
    })

    it('are removed by their account only, the last one with the recovery codes', async () => {
      const [{ account, session }, other] = [await makeAccount(), await makeAccount()]
      const [one, two] = [toPasskey(account), toPasskey(account)]
      await add(one, session)
      await add(two, session)
      expect(await store.passkeys.remove(other.account, one.id, false)).toBe(false)
      expect(await store.passkeys.remove(account, one.id, false)).toBe(true)
      expect((await store.factors.find(account)).recoveryCodes).toBe(2)
      expect(await store.passkeys.remove(account, two.id, false)).toBe(true)
      expect(await store.factors.find(account)).toEqual({ totp: undefined, passkeys: 0, recoveryCodes: 0 })
    })

    it('go with their account, and with a reset', async () => {
      const [one, two] = [await makeAccount(), await makeAccount()]
      for (const { account, session } of [one, two]) await add(toPasskey(account), session)
      await store.database.prepare('DELETE FROM accounts WHERE name = $1').run(one.account)
      expect(await store.factors.reset(two.account)).toBe(true)
      expect([await store.passkeys.list(one.account), await store.passkeys.list(two.account)]).toEqual([
        [],
        [],
      ])
    })

    it('have challenges that are forgotten an hour after they expired', async () => {
      const insert = (id: string, expiresAt: number) =>
        store.database
          .prepare('INSERT INTO used_challenges (id, expires_at) VALUES ($1, $2)')
          .run(id, expiresAt)
      const [old, recent] = [newId(), newId()]
      await insert(old, Date.now() - 3_700_000)
      await insert(recent, Date.now() - 3_500_000)
      await store.passkeys.deleteExpired(Date.now())
      const left = (await store.database.prepare('SELECT id FROM used_challenges').all()).map(({ id }) => id)
      expect([left.includes(old), left.includes(recent)]).toEqual([false, true])
    })
  })

  describe('identities of single sign-on', () => {
    it('create one account, of two at the same time', async () => {
      const [id, name] = [newId(), newName()]
      const create = (account = name) =>
        store.identities.create({ id, name: account, role: 'operator', at: NOW })
      expect((await Promise.all([create(), create(`${name}-x`)])).toSorted()).toEqual([false, true])
      const found = (await store.identities.find(id))?.account ?? ''
      expect(await store.accounts.find(found)).toMatchObject({ role: 'operator', password: '' })
      const other = found === name ? `${name}-x` : name
      expect(await store.accounts.find(other)).toBeUndefined()
    })

    it('never take an account that exists, and go with theirs', async () => {
      const [id, { account }] = [newId(), await makeAccount()]
      expect(await store.identities.create({ id, name: account, role: 'viewer', at: NOW })).toBe(false)
      expect(await store.identities.find(id)).toBeUndefined()
      const name = newName()
      await store.identities.create({ id, name, role: 'viewer', at: NOW })
      await store.accounts.remove(name)
      expect(await store.identities.find(id)).toBeUndefined()
    })
  })
})
