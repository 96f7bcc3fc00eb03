import { afterAll, beforeAll, expect, it } from 'vitest'
import { ADMIN_ROUTES } from '../../src/admin/routes.ts'
import { openTestConsole, type TestConsole } from './test-console.ts'

let server: TestConsole
beforeAll(async () => {
  server = await openTestConsole()
})
afterAll(() => server.close())

type Operation = { description: string; security?: unknown[]; responses: Record<string, unknown> }

it('the OpenAPI document lists every route with its role', async () => {
  const answer = await server.request('/admin/openapi.json')
  const { paths } = answer.json() as { paths: Record<string, Record<string, Operation>> }
  const found = Object.values(paths).flatMap((item) => Object.keys(item))
  expect([answer.status, found.length]).toEqual([200, ADMIN_ROUTES.length])
  for (const { method, path, role } of ADMIN_ROUTES) {
    const operation = paths[path.replace(/:([a-z]+)/g, '{$1}')]?.[method.toLowerCase()]
    expect(operation?.description, path).toContain(role === 'anyone' ? 'no session' : `\`${role}\``)
    const isForAccounts = operation?.description.endsWith('Refused for tokens.')
    expect(operation?.security, path).toEqual(
      role === 'anyone' ? [] : isForAccounts ? [{ session: [] }] : undefined,
    )
    const isRefused = isForAccounts || operation?.description.endsWith('refuses tokens.')
    expect(JSON.stringify(operation?.responses).includes('session_required'), path).toBe(isRefused)
  }
})
