import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { FactorUse } from '../../src/accounts/factor-rows.ts'
import type { Store } from '../../src/context/store.ts'
import { describeEngines, ENGINES } from '../engines.ts'

const NOW = 1_790_000_000_123
const LIMITS = { openedAfter: 0, seenAfter: 0 }

describeEngines(ENGINES, (engine) => {
  let store: Store
  beforeAll(async () => {
    store = await (await engine.createPlace()).open()
  })
  afterAll(() => store.close())

  /** An account with two sessions. */
  async function makeAccount(): Promise<{ account: string; sessions: [Buffer, Buffer] }> {
    const [id, account] = [randomBytes(32), `p-${randomBytes(6).toString('hex')}`]
    const invitation = { id, account: undefined, madeBy: 'root (cli)', createdAt: NOW, expiresAt: NOW + 10 }
    await store.accounts.invite({ ...invitation, role: 'viewer' })
    const row = {
      name: account,
      role: 'viewer',
      password: 'none',
      createdAt: NOW,
      lastSeenAt: undefined,
    } as const
    await store.accounts.accept(id, row)
    const sessions: [Buffer, Buffer] = [randomBytes(32), randomBytes(32)]
    for (const session of sessions)
      await store.accounts.open({ id: session, account, password: 'none', at: NOW })
    return { account, sessions }
  }

  const add = (account: string, session: Uint8Array, hashes = ['a', 'b']) =>
    store.factors.addTotp({
      account,
      sealed: Buffer.alloc(48, 7),
      step: 5,
      at: NOW,
      recoveryHashes: hashes,
      session,
    })
  const countSessions = async (account: string) => (await store.accounts.listSessions(account, LIMITS)).length

  describe('second factors', () => {
    it('that are added while a password is checked leave no session without one', async () => {
      for (let turn = 0; turn < 8; turn++) {
        const { account, sessions } = await makeAccount()
        const opening = {
          ...{ id: randomBytes(32), account, password: 'none', at: NOW },
          details: { method: 'password', address: undefined, browser: undefined },
        } as const
        const [, refusal] = await Promise.all([add(account, sessions[0]), store.accounts.open(opening)])
        expect([undefined, 'second_factor_needed']).toContain(refusal)
        expect(await countSessions(account)).toBe(1)
        expect(await store.accounts.open(opening)).toBe('second_factor_needed')
      }
    })

    it('that are added while a reset link is used keep the password', async () => {
      const { account, sessions } = await makeAccount()
      const id = randomBytes(32)
      const link = {
        id,
        account,
        role: 'viewer',
        madeBy: 'root (cli)',
        createdAt: NOW,
        expiresAt: NOW + 10,
      }
      await store.accounts.invite({ ...link, role: 'viewer' })
      await add(account, sessions[0])
      expect(await store.accounts.acceptReset(id, { password: 'new', now: NOW })).toBe('second_factor_needed')
      expect((await store.accounts.find(account))?.password).toBe('none')
    })

    it('are found as they were added, and only the session that added them stays', async () => {
      const { account, sessions } = await makeAccount()
      expect(await store.factors.find(account)).toEqual({ totp: undefined, passkeys: 0, recoveryCodes: 0 })
      expect(await add(account, sessions[0])).toEqual({ hasNewCodes: true })
      const { totp, recoveryCodes } = await store.factors.find(account)
      expect(totp).toMatchObject({ lastStep: 5, createdAt: NOW })
      expect([Buffer.from(totp?.sealed ?? []).toString('hex'), recoveryCodes]).toEqual(['07'.repeat(48), 2])
      const [left, ...others] = await store.accounts.listSessions(account, LIMITS)
      expect([Buffer.compare(left?.id ?? Buffer.alloc(0), sessions[0]), left?.method, others]).toEqual([
        0,
        'code',
        [],
      ])
      expect((await store.factors.listAccounts()).has(account)).toBe(true)
    })

    it('are added once, of two at the same time', async () => {
      const { account, sessions } = await makeAccount()
      const results = await Promise.allSettled([add(account, sessions[0]), add(account, sessions[1])])
      expect(results.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
      expect((await store.factors.find(account)).recoveryCodes).toBe(2)
    })

    it('accept a time step and a recovery code once, of many at the same time', async () => {
      const { account, sessions } = await makeAccount()
      await add(account, sessions[0])
      const use = (factor: FactorUse) =>
        store.accounts.open({ id: randomBytes(32), account, password: 'none', at: NOW, factor })
      const countOpened = async (factor: FactorUse) =>
        (await Promise.all(Array.from({ length: 8 }, () => use(factor)))).filter(
          (refusal) => refusal === undefined,
        ).length
      expect(await countOpened({ step: 6 })).toBe(1)
      expect(await use({ step: 5 })).toBe('wrong_code')
      expect(await countOpened({ recoveryHash: 'a' })).toBe(1)
      expect(await use({ recoveryHash: 'c' })).toBe('wrong_code')
      expect(await countSessions(account)).toBe(3)
      await store.factors.replaceRecoveryCodes(account, ['c', 'd', 'e'])
      const has = (hash: string) => store.factors.hasRecoveryCode(account, hash)
      expect([await has('b'), await has('c')]).toEqual([false, true])
      expect(await use({ recoveryHash: 'c' })).toBe(undefined)
      expect(await has('c')).toBe(false)
    })

    it('keep a code of a request that is refused', async () => {
      const { account, sessions } = await makeAccount()
      await add(account, sessions[0])
      const opening = { id: randomBytes(32), account, password: 'changed', at: NOW }
      const factor = { recoveryHash: 'a' }
      expect(await store.accounts.open({ ...opening, factor })).toBe('wrong_password')
      const reset = { password: 'new', now: NOW, factor }
      expect(await store.accounts.acceptReset(randomBytes(32), reset)).toBe('invitation_void')
      expect(await store.factors.hasRecoveryCode(account, 'a')).toBe(true)
      // And a code that was used changes nothing.
      const id = randomBytes(32)
      const link = { id, role: 'viewer', account, madeBy: 'root (cli)', createdAt: NOW } as const
      await store.accounts.invite({ ...link, expiresAt: NOW + 10 })
      const used = { ...reset, factor: { recoveryHash: 'used' } }
      expect(await store.accounts.acceptReset(id, used)).toBe('wrong_code')
      expect((await store.accounts.find(account))?.password).toBe('none')
      expect(await store.accounts.acceptReset(id, reset)).toBe(undefined)
      expect(await store.factors.hasRecoveryCode(account, 'a')).toBe(false)
    })

    it('are removed with their recovery codes, and a reset ends the sessions', async () => {
      const { account, sessions } = await makeAccount()
      await add(account, sessions[0])
      const remove = () => store.factors.removeTotp(account, false)
      expect([await remove(), await remove()]).toEqual([true, false])
      expect(await store.factors.find(account)).toEqual({ totp: undefined, passkeys: 0, recoveryCodes: 0 })
      await add(account, sessions[0])
      expect(await countSessions(account)).toBe(1)
      expect([await store.factors.reset(account), await store.factors.reset(account)]).toEqual([true, false])
      expect([await countSessions(account), (await store.factors.find(account)).recoveryCodes]).toEqual([
        0, 0,
      ])
    })

    it('go with their account, and cannot be added to one that was removed', async () => {
      const { account, sessions } = await makeAccount()
      await add(account, sessions[0])
      // As a node of an older version does.
      await store.database.prepare('DELETE FROM accounts WHERE name = $1').run(account)
      expect(await store.factors.find(account)).toEqual({ totp: undefined, passkeys: 0, recoveryCodes: 0 })
      await expect(add(account, sessions[0])).rejects.toThrow('removed')
    })
  })
})
