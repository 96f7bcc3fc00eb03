import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { toCursor } from '../../src/admin/fields.ts'
import type { AdminRoute } from '../../src/admin/route.ts'
import { ADMIN_ROUTES } from '../../src/admin/routes.ts'
import type { Role } from '../../src/contract/role.ts'
import { createTestDatabase, hasPostgres } from '../postgres.ts'
import { toSample } from './sample.ts'
import { openTestConsole, type TestConsole, type TestRequest } from './test-console.ts'

const engines = hasPostgres() ? (['sqlite', 'postgres'] as const) : (['sqlite'] as const)

type Shape = {
  readonly type?: string
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Shape[]
  readonly items?: Shape
  readonly properties?: Readonly<Record<string, Shape>>
}

const ODD = 'a\0b'

/** Inputs of a route that are good but for one text, by the name of its field. */
function listOdd(shape: Shape, path = ''): readonly (readonly [string, unknown])[] {
  if (shape.enum) return []
  if (shape.anyOf) return shape.anyOf.flatMap((each) => listOdd(each, path))
  if (shape.type === 'string') return [[path, ODD]]
  if (shape.items) return listOdd(shape.items, path).map(([name, odd]) => [name, [odd]] as const)
  return Object.entries(shape.properties ?? {}).flatMap(([field, each]) =>
    listOdd(each, `${path}.${field}`).map(
      ([name, odd]) => [name, { ...(toSample(shape) as object), [field]: odd }] as const,
    ),
  )
}

function toOddRequest({ method, path }: AdminRoute, input: unknown): [string, TestRequest] {
  const whole = path.replace(/:[a-z]+/g, 'none')
  if (method !== 'GET') return [whole, { method, body: input as object }]
  return [`${whole}?${new URLSearchParams(input as Record<string, string>)}`, {}]
}

/** PostgreSQL raises an error for NUL in a text and for a number out of range. That must not count as a failing database. */
describe.each(engines)('on %s', (engine) => {
  let server: TestConsole
  beforeAll(async () => {
    const settings = engine === 'postgres' ? { TABBAT_DATABASE_URL: await createTestDatabase() } : {}
    server = await openTestConsole(settings)
  })
  afterAll(() => server.close())

  const ask = async ({ role }: AdminRoute, path: string, request: TestRequest) => {
    const cookie = role === 'anyone' ? undefined : await server.openSession(role)
    const answer = await server.request(path, { ...request, ...(cookie && { cookie }) })
    return [path, answer.status, answer.json().code]
  }

  const withTexts = ADMIN_ROUTES.flatMap((route) =>
    listOdd((route.input ?? {}) as Shape).map(([field, input]) => ({ route, field, input })),
  )
  it('there are many texts', () => expect(withTexts.length).toBeGreaterThan(50))
  it.each(withTexts)('$route.name returns 422 for NUL in $field', async ({ route, input }) => {
    const [path, request] = toOddRequest(route, input)
    expect(await ask(route, path, request)).toEqual([path, 422, 'validation_failed'])
  })

  it.each(ADMIN_ROUTES.filter(({ path }) => path.includes(':')))(
    '$name returns 404 for NUL in its path',
    async (route) => {
      const path = route.path.replace(/:[a-z]+/g, 'a%00b')
      const { method } = route
      expect(await ask(route, path, method === 'GET' ? {} : { method, body: {} })).toEqual([
        path,
        404,
        'not_found',
      ])
    },
  )

  it.each([
    ['/admin/batches', toCursor(Date.now(), ODD)],
    ['/admin/requests', toCursor(Date.now(), ODD)],
  ])('%s returns 422 for NUL within a cursor', async (path, before) => {
    const cookie = await server.openSession('viewer')
    const answer = await server.request(`${path}?${new URLSearchParams({ before })}`, { cookie })
    expect([answer.status, answer.json().code]).toEqual([422, 'validation_failed'])
  })

  it.each<[string, number, Role, TestRequest]>([
    ['/admin/catalogue/rollback', 422, 'operator', { body: { to: 1e300 } }],
  ])('%s returns %i for an impossible value', async (path, status, role, request) => {
    const answer = await server.request(path, { ...request, cookie: await server.openSession(role) })
    expect([answer.status, answer.json().code]).toEqual([
      status,
      status === 404 ? 'not_found' : 'validation_failed',
    ])
  })
})
