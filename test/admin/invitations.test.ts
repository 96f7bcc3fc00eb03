import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readRows } from './audit-rows.ts'
import { openTestConsole, type TestConsole } from './test-console.ts'

type Open = { id: string; role: string; account: string | null; made_by: string; expires_at: string }

let at: TestConsole
let owner: string
beforeAll(async () => {
  at = await openTestConsole()
  owner = await at.openSession('owner')
})
afterAll(() => at.close())

const post = (path: string, body: object = {}, cookie = owner) => at.request(path, { body, cookie })
const listOpen = async () =>
  (await at.request('/admin/invitations', { cookie: owner })).json().invitations as Open[]
const invite = async (role = 'viewer') => String((await post('/admin/invitations', { role })).json().token)
const inspect = async (token: string) => (await post('/admin/invitations/inspect', { token })).status
const idOf = (open: readonly Open[], role: string) => open.find((each) => each.role === role)?.id ?? ''

describe('open invitations', () => {
  it('are listed with creator and expiry, without their token', async () => {
    await at.openSession('viewer', 'ladi')
    const token = await invite('operator')
    const reset = String((await post('/admin/accounts/ladi/reset')).json().token)
    const answer = await at.request('/admin/invitations', { cookie: owner })
    expect(answer.json().invitations).toMatchObject([
      { role: 'operator', account: null, made_by: 'owner' },
      { role: 'viewer', account: 'ladi', made_by: 'owner' },
    ])
    for (const secret of [token, reset]) expect(answer.text).not.toContain(secret)
    for (const { id } of await listOpen()) expect(id).toMatch(/^[0-9a-f]{12}$/)
    expect(await inspect(reset)).toBe(200)
  })

  it('can be voided by an owner, which is audited', async () => {
    const token = await invite('owner')
    const id = idOf(await listOpen(), 'owner')
    expect((await post(`/admin/invitations/${id}/void`)).json()).toEqual({ ok: true })
    expect(await inspect(token)).toBe(410)
    expect((await listOpen()).some((open) => open.id === id)).toBe(false)
    const rows = (await readRows(at, 'invitation_voided')).map(
      ({ outcome, detail }) => `${outcome}: ${detail}`,
    )
    expect(rows).toEqual([`ok: ${id}, owner, made by owner; by owner`])
    const again = await post(`/admin/invitations/${id}/void`)
    expect([again.status, again.json().message]).toEqual([409, expect.stringContaining(`invitation ${id}`)])
  })

  it('are not identified by a pasted link, and the error does not repeat it', async () => {
    const token = await invite()
    const answer = await post(`/admin/invitations/${token}/void`)
    expect([answer.status, answer.text.includes(token)]).toEqual([409, false])
    expect(await inspect(token)).toBe(200)
  })

  it('are not listed after use', async () => {
    const before = (await listOpen()).length
    const token = await invite()
    expect(await listOpen()).toHaveLength(before + 1)
    await post('/admin/invitations/accept', { token, name: 'bisi', password: 'a well-kept secret' })
    expect(await listOpen()).toHaveLength(before)
  })
})
