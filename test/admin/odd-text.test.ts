import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Role } from '../../src/contract/role.ts'
import { createTestDatabase, hasPostgres } from '../postgres.ts'
import { type Ask, openTestConsole, type TestConsole } from './console.ts'

const engines = hasPostgres() ? (['sqlite', 'postgres'] as const) : (['sqlite'] as const)

/** PostgreSQL fails at a text with a NUL, and at a number that is too large: that must not look like a database that fails. */
describe.each(engines)('on %s', (engine) => {
  let server: TestConsole
  beforeAll(async () => {
    const settings = engine === 'postgres' ? { TABBAT_DATABASE_URL: await createTestDatabase() } : {}
    server = await openTestConsole(settings)
  })
  afterAll(() => server.close())

  it.each<[string, number, Role, Ask]>([
    ['/admin/session/sign-in', 422, 'viewer', { body: { name: 'a\0b', password: 'whatever' } }],
    ['/admin/audit/search', 422, 'viewer', { body: { reference: 'a\0b' } }],
    ['/admin/audit/timelines/a%00b', 404, 'viewer', {}],
    ['/admin/accounts/a%00b/remove', 404, 'owner', { body: {} }],
    ['/admin/accounts/a%00b/reset', 404, 'owner', { body: {} }],
    ['/admin/keys/a%00b/revoke', 404, 'operator', { body: {} }],
    ['/admin/keys/a%00b/roll', 404, 'operator', { body: {} }],
    ['/admin/catalogue/rollback', 422, 'operator', { body: { to: 1e300 } }],
  ])('%s answers %i to what cannot be there', async (path, status, role, ask) => {
    const answer = await server.ask(path, { ...ask, cookie: await server.signedIn(role) })
    expect([answer.status, answer.json().code]).toEqual([
      status,
      status === 404 ? 'not_found' : 'validation_failed',
    ])
  })
})
