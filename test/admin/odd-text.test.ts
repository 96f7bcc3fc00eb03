import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Role } from '../../src/contract/role.ts'
import { createTestDatabase, hasPostgres } from '../postgres.ts'
import { openTestConsole, type TestConsole, type TestRequest } from './test-console.ts'

const engines = hasPostgres() ? (['sqlite', 'postgres'] as const) : (['sqlite'] as const)

/** PostgreSQL raises an error for NUL in a text and for a number out of range. That must not count as a failing database. */
describe.each(engines)('on %s', (engine) => {
  let server: TestConsole
  beforeAll(async () => {
    const settings = engine === 'postgres' ? { TABBAT_DATABASE_URL: await createTestDatabase() } : {}
    server = await openTestConsole(settings)
  })
  afterAll(() => server.close())

  it.each<[string, number, Role, TestRequest]>([
    ['/admin/session/sign-in', 422, 'viewer', { body: { name: 'a\0b', password: 'whatever' } }],
    ['/admin/audit/search', 422, 'viewer', { body: { reference: 'a\0b' } }],
    ['/admin/audit/timelines/a%00b', 404, 'viewer', {}],
    ['/admin/accounts/a%00b/remove', 404, 'owner', { body: {} }],
    ['/admin/accounts/a%00b/reset', 404, 'owner', { body: {} }],
    ['/admin/keys/a%00b/revoke', 404, 'operator', { body: {} }],
    ['/admin/keys/a%00b/roll', 404, 'operator', { body: {} }],
    ['/admin/catalogue/rollback', 422, 'operator', { body: { to: 1e300 } }],
  ])('%s returns %i for an impossible value', async (path, status, role, request) => {
    const answer = await server.request(path, { ...request, cookie: await server.openSession(role) })
    expect([answer.status, answer.json().code]).toEqual([
      status,
      status === 404 ? 'not_found' : 'validation_failed',
    ])
  })
})
