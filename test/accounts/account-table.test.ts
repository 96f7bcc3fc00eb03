import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { InvitationRow } from '../../src/accounts/account-table.ts'
import type { Store } from '../../src/context/store.ts'
import type { Role } from '../../src/contract/role.ts'
import { describeEngines, ENGINES } from '../engines.ts'

/** Larger than 32 bits, as times are. */
const NOW = 1_790_000_000_123
const newName = () => `p-${randomBytes(6).toString('hex')}`
const newId = () => randomBytes(32)
const LIMITS = { openedAfter: NOW - 100, seenAfter: NOW - 10 }

const toInvitation = (values: Partial<InvitationRow> = {}): InvitationRow & { id: Buffer } => ({
  id: newId(),
  role: 'viewer',
  account: undefined,
  madeBy: 'root (cli)',
  createdAt: NOW,
  expiresAt: NOW + 10,
  ...(values as object),
})

describeEngines(ENGINES, (engine) => {
  let store: Store
  beforeAll(async () => {
    store = await (await engine.createPlace()).open()
  })
  afterAll(() => store.close())

  async function makeAccount(role: Role = 'viewer', name = newName()): Promise<string> {
    const invitation = toInvitation({ role })
    await store.accounts.invite(invitation)
    await store.accounts.accept(invitation.id, toAccount(name, role))
    return name
  }
  const toAccount = (name: string, role: Role = 'viewer') => ({
    name,
    role,
    password: `of ${name}`,
    createdAt: NOW,
    lastSeenAt: undefined,
  })
  async function openSession(name: string, at = NOW): Promise<Uint8Array> {
    const id = newId()
    expect(await store.accounts.open({ id, account: name, password: `of ${name}`, at })).toBeUndefined()
    return id
  }

  describe('accounts', () => {
    it('are found and listed as they were created', async () => {
      expect(await store.accounts.hasAny()).toBe(false)
      const name = await makeAccount('operator')
      expect(await store.accounts.find(name)).toEqual(toAccount(name, 'operator'))
      expect(await store.accounts.find('nobody')).toBeUndefined()
      expect(await store.accounts.list()).toEqual([toAccount(name, 'operator')])
      expect(await store.accounts.hasAny()).toBe(true)
    })

    it('have unique names, and a refused invitation stays valid', async () => {
      const name = await makeAccount()
      const invitation = toInvitation()
      await store.accounts.invite(invitation)
      await expect(store.accounts.accept(invitation.id, toAccount(name))).rejects.toThrow(/already/)
      expect(await store.accounts.findInvitation(invitation.id, NOW)).toMatchObject({
        madeBy: 'root (cli)',
      })
    })

    it('have open invitations that are listed until they expire, and voided once', async () => {
      const [first, second] = [toInvitation({ createdAt: NOW - 2 }), toInvitation({ createdAt: NOW - 1 })]
      const late = toInvitation({ expiresAt: NOW })
      for (const each of [second, late, first]) await store.accounts.invite(each)
      const own = [first, second, late].map(({ id }) => id.toString('hex'))
      const listed = async () =>
        (await store.accounts.listInvitations(NOW))
          .map(({ id }) => Buffer.from(id).toString('hex'))
          .filter((id) => own.includes(id))
      expect(await listed()).toEqual(own.slice(0, 2))
      expect(await store.accounts.voidInvitation(first.id)).toBe(true)
      expect(await store.accounts.voidInvitation(first.id)).toBe(false)
      expect(await listed()).toEqual(own.slice(1, 2))
      expect(await store.accounts.accept(first.id, toAccount(newName()))).toBe(false)
    })

    it('are remembered when they are removed, each of the same name by its own creation', async () => {
      const name = await makeAccount()
      const before = await store.removals.list()
      await store.accounts.remove(name)
      const again = toInvitation()
      await store.accounts.invite(again)
      await store.accounts.accept(again.id, { ...toAccount(name), createdAt: NOW + 1 })
      await store.accounts.remove(name)
      await expect(store.accounts.remove(name)).rejects.toThrow(/no account/)
      const removed = (await store.removals.list()).slice(before.length)
      const row = { kind: 'account', id: name, removedAt: expect.any(Number) }
      expect(removed.toSorted((one, other) => one.createdAt - other.createdAt)).toEqual([
        { ...row, createdAt: NOW },
        { ...row, createdAt: NOW + 1 },
      ])
    })

    it('lose their sessions when the role changes or the account is removed', async () => {
      for (const change of [
        (name: string) => store.accounts.setRole(name, 'operator'),
        (name: string) => store.accounts.remove(name),
      ]) {
        const name = await makeAccount()
        const id = await openSession(name)
        await change(name)
        expect(await store.accounts.findSession(id, LIMITS)).toBeUndefined()
      }
    })

    it('that do not exist cannot be changed', async () => {
      await expect(store.accounts.setRole('nobody', 'owner')).rejects.toThrow(/no account/)
      await expect(store.accounts.remove('nobody')).rejects.toThrow(/no account/)
    })

    it('change their password only if it is unchanged since it was read, and end other sessions', async () => {
      const name = await makeAccount()
      const [keep, other] = [await openSession(name), await openSession(name)]
      const change = { name, before: `of ${name}`, after: 'new', keep }
      expect(
        await Promise.all([store.accounts.setPassword(change), store.accounts.setPassword(change)]),
      ).toContain(false)
      expect((await store.accounts.find(name))?.password).toBe('new')
      expect(await store.accounts.findSession(keep, LIMITS)).toBeDefined()
      expect(await store.accounts.findSession(other, LIMITS)).toBeUndefined()
      const opening = { id: newId(), account: name, password: `of ${name}`, at: NOW }
      expect(await store.accounts.open(opening)).toBe('wrong_password')
    })
  })

  describe('invitations', () => {
    it('are used once by concurrent requests', async () => {
      const invitation = toInvitation()
      await store.accounts.invite(invitation)
      const names = Array.from({ length: 8 }, newName)
      const won = await Promise.all(
        names.map((name) => store.accounts.accept(invitation.id, toAccount(name))),
      )
      expect(won.filter(Boolean)).toHaveLength(1)
      const made = (await store.accounts.list()).filter(({ name }) => names.includes(name))
      expect(made.map(({ name }) => name)).toEqual([names[won.indexOf(true)]])
    })

    it('have a fixed role', async () => {
      const invitation = toInvitation()
      await store.accounts.invite(invitation)
      expect(await store.accounts.accept(invitation.id, toAccount(newName(), 'owner'))).toBe(false)
    })

    it('expire', async () => {
      const invitation = toInvitation({ expiresAt: NOW })
      await store.accounts.invite(invitation)
      expect(await store.accounts.findInvitation(invitation.id, NOW)).toBeUndefined()
      expect(await store.accounts.accept(invitation.id, toAccount(newName()))).toBe(false)
    })

    it('that reset a password are used once, and end all others of that account', async () => {
      const name = await makeAccount()
      const id = await openSession(name)
      const links = [toInvitation({ account: name }), toInvitation({ account: name })]
      for (const link of links) await store.accounts.invite(link)
      expect(await store.accounts.accept(links[0]?.id ?? newId(), toAccount(newName()))).toBe(false)
      const refusals = await Promise.all(
        [...links, ...links].map((link, at) =>
          store.accounts.acceptReset(link.id, { password: `new ${at}`, now: NOW }),
        ),
      )
      expect(refusals.filter((refusal) => refusal === undefined)).toHaveLength(1)
      expect((await store.accounts.find(name))?.password).toBe(`new ${refusals.indexOf(undefined)}`)
      expect(await store.accounts.findSession(id, LIMITS)).toBeUndefined()
    })

    it('of an account that is no longer an owner are void', async () => {
      await makeAccount('owner')
      const name = await makeAccount('owner')
      const invitation = toInvitation({ madeBy: name })
      await store.accounts.invite(invitation)
      await store.accounts.setRole(name, 'viewer')
      expect(await store.accounts.findInvitation(invitation.id, NOW)).toBeUndefined()
      await expect(store.accounts.invite(invitation)).rejects.toThrow('Only an owner')
      await store.accounts.remove(name)
      await expect(store.accounts.invite(invitation)).rejects.toThrow('Only an owner')
      expect(await store.accounts.findInvitation(invitation.id, NOW)).toBeUndefined()
    })
  })

  describe('sessions', () => {
    it('are found with the current role, until they end', async () => {
      const name = await makeAccount('operator')
      const id = await openSession(name)
      expect(await store.accounts.findSession(id, LIMITS)).toMatchObject({
        account: name,
        role: 'operator',
        createdAt: NOW,
        seenAt: NOW,
      })
      expect(await store.accounts.findSession(id, { ...LIMITS, openedAfter: NOW })).toBeUndefined()
      expect(await store.accounts.findSession(id, { ...LIMITS, seenAfter: NOW })).toBeUndefined()
      expect([await store.accounts.end(id), await store.accounts.end(id)]).toEqual([true, false])
      expect(await store.accounts.findSession(id, LIMITS)).toBeUndefined()
    })

    it('have a last-seen time that never decreases, and so has the account', async () => {
      const name = await makeAccount()
      const id = await openSession(name)
      await Promise.all([store.accounts.touch(id, NOW + 5), store.accounts.touch(id, NOW + 3)])
      expect((await store.accounts.findSession(id, LIMITS))?.seenAt).toBe(NOW + 5)
      expect((await store.accounts.find(name))?.lastSeenAt).toBeGreaterThan(NOW)
    })

    it('that have ended are deleted, and so are expired invitations', async () => {
      const name = await makeAccount()
      const [old, fresh] = [await openSession(name, NOW - 20), await openSession(name, NOW)]
      const [void_, good] = [toInvitation({ expiresAt: NOW }), toInvitation({ expiresAt: NOW + 1 })]
      for (const invitation of [void_, good]) await store.accounts.invite(invitation)
      await store.accounts.deleteExpired({ ...LIMITS, now: NOW })
      const all = { openedAfter: 0, seenAfter: 0 }
      expect(await store.accounts.findSession(old, all)).toBeUndefined()
      expect(await store.accounts.findSession(fresh, all)).toBeDefined()
      expect(await store.accounts.findInvitation(void_.id, 0)).toBeUndefined()
      expect(await store.accounts.findInvitation(good.id, 0)).toBeDefined()
    })
  })

  describe('two owners', () => {
    it.each(['lowered', 'removed'] as const)('one stays when both are %s at the same time', async (how) => {
      const own = await (await engine.createPlace()).open()
      for (const name of ['one', 'two']) {
        const invitation = toInvitation({ role: 'owner' })
        await own.accounts.invite(invitation)
        await own.accounts.accept(invitation.id, toAccount(name, 'owner'))
      }
      const ends = await Promise.allSettled(
        ['one', 'two'].map((name) =>
          how === 'removed' ? own.accounts.remove(name) : own.accounts.setRole(name, 'viewer'),
        ),
      )
      expect(ends.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
      expect((await own.accounts.list()).filter(({ role }) => role === 'owner')).toHaveLength(1)
      await own.close()
    })
  })
})
