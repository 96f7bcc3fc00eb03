import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { createSessions, toSessionId } from '../../src/accounts/sessions.ts'
import { MINUTE_MS } from '../../src/contract/time.ts'
import { createSession } from '../admin/test-console.ts'
import { openTestApp, type TestApp } from '../app.ts'

let server: TestApp
beforeAll(async () => {
  server = await openTestApp()
})
afterAll(() => server.close())

const away = () => Promise.reject(Object.assign(new Error('the database is down'), { severity: 'FATAL' }))

/** Sessions of a store that can be away. */
async function openSessions() {
  const { accounts } = server.context.store
  const state: { isAway: boolean; hangs?: Promise<void> } = { isAway: false }
  const findSession: typeof accounts.findSession = async (...given) => {
    await state.hangs
    return state.isAway ? away() : accounts.findSession(...given)
  }
  const key = server.context.keyring()['console-token']
  const sessions = createSessions({ ...accounts, findSession }, () => key)
  const token = (await createSession(server.context, 'viewer', 'bola')).replace('tabbat_console=', '')
  const find = (worksWithoutStore: boolean) =>
    sessions.findActor(token, { isActivity: true, worksWithoutStore })
  return { state, sessions, find }
}

it('what a page shows by itself goes on while the store is away, and nothing else', async () => {
  const { state, sessions, find } = await openSessions()
  state.isAway = true
  // Not seen open before.
  await expect(find(true)).rejects.toThrow('is down')
  state.isAway = false
  expect(await find(false)).toMatchObject({ name: 'bola' })
  state.isAway = true
  const actor = await find(true)
  expect(actor).toMatchObject({ name: 'bola', role: 'viewer' })
  expect(actor && (await sessions.describe(actor))).toMatchObject({ name: 'bola' })
  await expect(find(false)).rejects.toThrow('is down')
})

it('a known session ends without activity, and when it is ended', async () => {
  const { state, sessions, find } = await openSessions()
  const actor = await find(true)
  state.isAway = true
  const later = Date.now() + 16 * MINUTE_MS
  vi.spyOn(Date, 'now').mockReturnValue(later)
  vi.spyOn(performance, 'now').mockReturnValue(performance.now() + 16 * MINUTE_MS)
  expect(await find(true)).toBeUndefined()
  vi.restoreAllMocks()
  expect(await find(true)).toMatchObject({ name: 'bola' })
  if (actor) await sessions.end(actor)
  await expect(find(true)).rejects.toThrow('is down')
})

it('a store that hangs does not hold back what a page shows by itself', async () => {
  const { state, find } = await openSessions()
  const actor = await find(true)
  const { promise, resolve } = Promise.withResolvers<void>()
  state.hangs = promise
  expect(await find(true)).toMatchObject({ name: 'bola' })
  // The read that was late tells that the session has ended.
  const late = find(false)
  if (actor) await server.context.store.accounts.end(toSessionId(actor))
  resolve()
  expect(await late).toBeUndefined()
  expect(await find(true)).toBeUndefined()
})

it('a session that was ended elsewhere is not known any more', async () => {
  const { state, find } = await openSessions()
  const actor = await find(true)
  const other = createSessions(server.context.store.accounts, () => server.context.keyring()['console-token'])
  if (actor) await other.end(actor)
  expect(await find(true)).toBeUndefined()
  state.isAway = true
  await expect(find(true)).rejects.toThrow('is down')
})
