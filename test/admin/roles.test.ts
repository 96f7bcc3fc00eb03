import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { AdminRoute } from '../../src/admin/route.ts'
import { ADMIN_ROUTES } from '../../src/admin/routes.ts'
import { isAtLeast, ROLES, type Role } from '../../src/contract/role.ts'
import { TRANSIENT_TABLES } from '../../src/store/data-tables.ts'
import { dump } from '../registry/full-database.ts'
import { type Ask, openTestConsole, type TestConsole } from './console.ts'
import { toSample } from './sample.ts'

/** Who asks: nobody, or somebody with this role. */
type VerificationRequest = Role | 'nobody'

/** Written by clocks, not by requests. */
const CLOCKWORK = ['audit_chains', 'checkpoints', 'source_states']

let server: TestConsole
let keyId: string
beforeAll(async () => {
  server = await openTestConsole()
  await server.signedIn('viewer', 'target')
  const key = await server.createKey()
  keyId = key.split('_')[2]?.slice(0, 8) ?? ''
})
afterAll(() => server.close())

/** Everything that a request could change. */
async function readAll(): Promise<Record<string, unknown>> {
  const { store } = server.context
  const tables: Record<string, unknown> = await dump(store)
  for (const table of CLOCKWORK) delete tables[table]
  for (const table of TRANSIENT_TABLES)
    tables[table] = (await store.database.prepare(`SELECT COUNT(*) AS n FROM ${table}`).get())?.n
  return tables
}

/** An address that leads to something that is there, so that a missing guard would be seen. */
function toPath({ path, method, input }: AdminRoute): string {
  const real: Record<string, string> = { accounts: 'target', keys: keyId, sources: 'dojah' }
  const whole = path.replace(
    /([a-z]+)\/:[a-z]+/g,
    (_match, room: string) => `${room}/${real[room] ?? 'none'}`,
  )
  if (method !== 'GET' || !input) return whole
  return `${whole}?${new URLSearchParams(toSample(input) as Record<string, string>)}`
}

const toAsk = ({ method, input }: AdminRoute): Ask =>
  method === 'GET' ? { method } : { method, body: input ? (toSample(input) as object) : {} }

const signedIn = async (asker: VerificationRequest) =>
  asker === 'nobody' ? undefined : await server.signedIn(asker)

const mayAsk = (asker: VerificationRequest, { role }: AdminRoute) =>
  role === 'anyone' || (asker !== 'nobody' && isAtLeast(asker, role))

const ASKERS: readonly VerificationRequest[] = ['nobody', ...ROLES]
const EVERY = ADMIN_ROUTES.flatMap((route) =>
  ASKERS.map((asker) => ({ asker, what: `${route.method} ${route.path}`, route })),
)

it('every address is there once, under a name of its own', () => {
  expect(ADMIN_ROUTES.length).toBeGreaterThan(10)
  expect(new Set(ADMIN_ROUTES.map(({ method, path }) => `${method} ${path}`)).size).toBe(ADMIN_ROUTES.length)
  expect(new Set(ADMIN_ROUTES.map(({ name }) => name)).size).toBe(ADMIN_ROUTES.length)
  for (const { path } of ADMIN_ROUTES) expect(path).toMatch(/^\/admin\//)
})

describe('whoever may not', () => {
  it.each(EVERY.filter(({ asker, route }) => !mayAsk(asker, route)))(
    'is refused as $asker at $what, and nothing changes',
    async ({ asker, route }) => {
      const cookie = await signedIn(asker)
      const before = await readAll()
      const answer = await server.ask(toPath(route), { ...toAsk(route), cookie })
      expect([answer.status, answer.json().code]).toEqual(
        asker === 'nobody' ? [401, 'signed_out'] : [403, 'wrong_role'],
      )
      expect(await readAll()).toEqual(before)
    },
  )
})

describe('whoever comes from elsewhere', () => {
  const foreign: readonly [string, number, Ask['headers']][] = [
    ['a page of another site', 403, { 'sec-fetch-site': 'cross-site' }],
    ['a page of a neighbour', 403, { 'sec-fetch-site': 'same-site' }],
    ['another origin', 403, { origin: 'https://elsewhere.example' }],
    ['no origin that can be told', 403, { origin: 'null' }],
    ['a form', 415, { 'content-type': 'application/x-www-form-urlencoded' }],
    ['a form with files', 415, { 'content-type': 'multipart/form-data; boundary=x' }],
    ['a form of plain text', 415, { 'content-type': 'text/plain' }],
    ['something without a type', 415, {}],
  ]
  const posts = ADMIN_ROUTES.filter(({ method }) => method === 'POST')
  it.each(
    posts.flatMap((route) =>
      foreign.map(([from, status, headers]) => ({ from, status, headers, route, what: route.path })),
    ),
  )('is refused as $from at $what, and nothing changes', async ({ status, headers = {}, route }) => {
    const cookie = await server.signedIn('owner')
    const before = await readAll()
    const isForm = status === 415
    const ask = toAsk(route)
    const type = isForm ? {} : { 'content-type': 'application/json' }
    const answer = await server.ask(toPath(route), {
      ...ask,
      cookie,
      body: JSON.stringify(ask.body),
      headers: { ...type, ...headers },
    })
    expect([answer.status, answer.json().code]).toEqual(
      isForm ? [415, 'unsupported_media_type'] : [403, 'foreign_origin'],
    )
    expect(await readAll()).toEqual(before)
  })
})

describe('a page from elsewhere', () => {
  const gets = ADMIN_ROUTES.filter(({ method }) => method === 'GET')
  it.each(
    gets.flatMap((route) => ['cross-site', 'same-site'].map((site) => ({ site, route, what: route.path }))),
  )('cannot even look as $site at $what, and leaves no trace', async ({ site, route }) => {
    const cookie = await server.signedIn('owner')
    const before = await readAll()
    const answer = await server.ask(toPath(route), { cookie, headers: { 'sec-fetch-site': site } })
    expect([answer.status, answer.json().code]).toEqual([403, 'foreign_origin'])
    expect(await readAll()).toEqual(before)
  })

  it('is not what somebody is who types an address in', async () => {
    const cookie = await server.signedIn('viewer')
    const headers = { 'sec-fetch-site': 'none' }
    expect((await server.ask('/admin/keys', { cookie, headers })).status).toBe(200)
  })
})

/** What somebody with this role may change by asking this: it is said here once more, apart from the list of addresses. */
function toUntouched(
  asker: VerificationRequest,
  { method }: AdminRoute,
  tables: Record<string, unknown>,
): unknown {
  const { audit, sessions, accounts, invitations, ...others } = tables
  if (method === 'GET' || asker === 'nobody' || asker === 'viewer') return { accounts, invitations, others }
  return asker === 'operator' ? { accounts, invitations } : {}
}

describe('whoever may', () => {
  it.each(EVERY.filter(({ asker, route }) => mayAsk(asker, route)))(
    'is heard as $asker at $what, and changes no more than that role may',
    async ({ asker, route }) => {
      const cookie = await signedIn(asker)
      const before = await readAll()
      const answer = await server.ask(toPath(route), { ...toAsk(route), cookie })
      expect(answer.status).not.toBe(403)
      expect(answer.status).not.toBe(500)
      // A password that was made up is wrong, and that is another thing than not being signed in.
      if (answer.status === 401) expect(answer.json().code).toBe('wrong_password')
      expect(toUntouched(asker, route, await readAll())).toEqual(toUntouched(asker, route, before))
    },
  )
})
