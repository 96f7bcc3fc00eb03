import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createAdminToken } from '../../src/accounts/admin-tokens.ts'
import type { AdminRoute } from '../../src/admin/route.ts'
import { ADMIN_ROUTES } from '../../src/admin/routes.ts'
import { TRANSIENT_TABLES } from '../../src/backup/format.ts'
import { isAtLeast, ROLES, type Role } from '../../src/contract/role.ts'
import { dump } from '../registry/full-database.ts'
import { toSample } from './sample.ts'
import { openTestConsole, type TestConsole, type TestRequest } from './test-console.ts'

/** The caller: not signed in, signed in with this role, or with a token of this role. */
type Caller = Role | 'anonymous' | `token ${Role}`

/** Tables that timers write, not requests. */
const TIMER_TABLES = ['audit_chains', 'checkpoints', 'source_states', 'request_blocks']

let server: TestConsole
let keyId: string
const tokens: Partial<Record<Caller, string>> = {}
beforeAll(async () => {
  server = await openTestConsole()
  commits = new DatabaseSync(server.context.store.file, { readOnly: true })
  await server.openSession('viewer', 'target')
  const key = await server.createKey()
  keyId = key.split('_')[2]?.slice(0, 8) ?? ''
  const deps = { ...server.context, keyring: server.context.keyring(), by: 'root (cli)' }
  for (const role of ROLES) {
    const options = { name: 'script', role, lifetimeMs: 3_600_000, allowedIps: undefined }
    tokens[`token ${role}`] = (await createAdminToken(deps, options)).text
  }
})
afterAll(async () => {
  commits.close()
  await server.close()
})

/** A second connection, which counts the commits of all others. */
let commits: DatabaseSync
let last: { readonly version: unknown; readonly tables: Record<string, unknown> } | undefined

/** All data that a request could change. They are read again only after a commit. */
async function readAll(): Promise<Record<string, unknown>> {
  const version = commits.prepare('PRAGMA data_version').get()?.data_version
  if (!last || last.version !== version) last = { version, tables: await readTables() }
  return last.tables
}

async function readTables(): Promise<Record<string, unknown>> {
  const { store } = server.context
  const tables: Record<string, unknown> = await dump(store)
  tables.admin_tokens = (await store.adminTokens.list()).map(({ lastUsedAt, ...row }) => row)
  for (const table of TRANSIENT_TABLES)
    tables[table] = (await store.database.prepare(`SELECT COUNT(*) AS n FROM ${table}`).get())?.n
  for (const table of TIMER_TABLES) delete tables[table]
  // When the server last looked for revocations, and for damage.
  tables.meta = (tables.meta as string[]).filter((row) => !/revocations_noted_at|last_scrub_at/.test(row))
  return tables
}

/** A path to an existing resource, so that a missing check would be noticed. */
function toPath({ path, method, input }: AdminRoute): string {
  const real: Record<string, string> = { accounts: 'target', keys: keyId, sources: 'dojah' }
  const whole = path.replace(
    /([a-z]+)\/:[a-z]+/g,
    (_match, resource: string) => `${resource}/${real[resource] ?? 'none'}`,
  )
  if (method !== 'GET' || !input) return whole
  return `${whole}?${new URLSearchParams(toSample(input) as Record<string, string>)}`
}

const toRequest = ({ method, input }: AdminRoute): TestRequest =>
  method === 'GET' ? { method } : { method, body: input ? (toSample(input) as object) : {} }

const isToken = (caller: Caller) => caller.startsWith('token ')
const toRole = (caller: Caller) => caller.replace('token ', '') as Role | 'anonymous'

async function toCredentials(
  caller: Caller,
  openSession: (role: Role) => Promise<string> = server.openSession,
): Promise<Pick<TestRequest, 'cookie' | 'headers'>> {
  const role = toRole(caller)
  if (isToken(caller)) return { headers: { authorization: `Bearer ${tokens[caller]}` } }
  return role === 'anonymous' ? {} : { cookie: await openSession(role) }
}

const sessions: Partial<Record<Role, string>> = {}
/** For requests that are refused, and so do not end the session. */
const keepSession = async (role: Role) => (sessions[role] ??= await server.openSession(role))

/** What tokens may not call, written down independently of the list of routes. */
const isForAccounts = ({ method, path, input, isSensitive = false }: AdminRoute) =>
  isSensitive ||
  (method === 'POST' && /^\/admin\/(session|accounts|invitations|tokens)\b/.test(path)) ||
  (input !== undefined && 'password' in input.properties)

function isAllowed(caller: Caller, route: AdminRoute): boolean {
  const role = toRole(caller)
  if (route.role === 'anyone') return true
  return role !== 'anonymous' && isAtLeast(role, route.role) && !(isToken(caller) && isForAccounts(route))
}

const CALLERS: readonly Caller[] = ['anonymous', ...ROLES, ...ROLES.map((role) => `token ${role}` as const)]
const CASES = ADMIN_ROUTES.flatMap((route) =>
  CALLERS.map((caller) => ({ caller, what: `${route.method} ${route.path}`, route })),
)

it('every route has its own path and name', () => {
  expect(ADMIN_ROUTES.length).toBeGreaterThan(10)
  expect(new Set(ADMIN_ROUTES.map(({ method, path }) => `${method} ${path}`)).size).toBe(ADMIN_ROUTES.length)
  expect(new Set(ADMIN_ROUTES.map(({ name }) => name)).size).toBe(ADMIN_ROUTES.length)
  for (const { path } of ADMIN_ROUTES) expect(path).toMatch(/^\/admin\//)
})

describe('a caller without the role', () => {
  it.each(CASES.filter(({ caller, route }) => !isAllowed(caller, route)))(
    'is refused as $caller at $what, and nothing changes',
    async ({ caller, route }) => {
      const credentials = await toCredentials(caller, keepSession)
      const before = await readAll()
      const answer = await server.request(toPath(route), { ...toRequest(route), ...credentials })
      const refusal = isToken(caller) && isForAccounts(route) ? 'session_required' : 'wrong_role'
      expect([answer.status, answer.json().code]).toEqual(
        caller === 'anonymous' ? [401, 'signed_out'] : [403, refusal],
      )
      expect(await readAll()).toEqual(before)
    },
  )
})

describe('a request from another site', () => {
  const foreign: readonly [string, number, TestRequest['headers']][] = [
    ['a page of another site', 403, { 'sec-fetch-site': 'cross-site' }],
    ['a page of another port', 403, { 'sec-fetch-site': 'same-site' }],
    ['an address that was typed', 403, { 'sec-fetch-site': 'none' }],
    ['another port of this host', 403, { origin: 'http://127.0.0.1:1' }],
    ['another origin', 403, { origin: 'https://elsewhere.example' }],
    ['an opaque origin', 403, { origin: 'null' }],
    ['a form', 415, { 'content-type': 'application/x-www-form-urlencoded' }],
    ['a form with files', 415, { 'content-type': 'multipart/form-data; boundary=x' }],
    ['a form of plain text', 415, { 'content-type': 'text/plain' }],
    ['a body without a type', 415, {}],
  ]
  const posts = ADMIN_ROUTES.filter(({ method }) => method === 'POST')
  it.each(
    posts.flatMap((route) =>
      foreign.map(([from, status, headers]) => ({ from, status, headers, route, what: route.path })),
    ),
  )('is refused as $from at $what, and nothing changes', async ({ status, headers = {}, route }) => {
    const cookie = await keepSession('owner')
    const before = await readAll()
    const isForm = status === 415
    const request = toRequest(route)
    const type = isForm ? {} : { 'content-type': 'application/json' }
    const answer = await server.request(toPath(route), {
      ...request,
      cookie,
      body: JSON.stringify(request.body),
      headers: { ...type, ...headers },
    })
    expect([answer.status, answer.json().code]).toEqual(
      isForm ? [415, 'unsupported_media_type'] : [403, 'foreign_origin'],
    )
    expect(await readAll()).toEqual(before)
  })
})

describe('a page of another site', () => {
  const gets = ADMIN_ROUTES.filter(({ method }) => method === 'GET')
  it.each(
    gets.flatMap((route) => ['cross-site', 'same-site'].map((site) => ({ site, route, what: route.path }))),
  )('cannot read as $site at $what, and nothing is written', async ({ site, route }) => {
    const cookie = await keepSession('owner')
    const before = await readAll()
    const answer = await server.request(toPath(route), { cookie, headers: { 'sec-fetch-site': site } })
    expect([answer.status, answer.json().code]).toEqual([403, 'foreign_origin'])
    expect(await readAll()).toEqual(before)
  })

  it('is not assumed when the address was typed', async () => {
    const cookie = await server.openSession('viewer')
    const headers = { 'sec-fetch-site': 'none' }
    expect((await server.request('/admin/keys', { cookie, headers })).status).toBe(200)
  })
})

/** What each route may change, written down independently of the list of routes. */
function toUntouched(caller: Caller, { method }: AdminRoute, tables: Record<string, unknown>): unknown {
  const { audit, sessions, accounts, invitations, admin_tokens, sign_in_failures, ...others } = tables
  const role = toRole(caller)
  if (method === 'GET' || role === 'anonymous' || role === 'viewer')
    return { accounts, invitations, admin_tokens, others }
  return role === 'operator' || isToken(caller) ? { accounts, invitations, admin_tokens } : {}
}

describe('a caller with the role', () => {
  it.each(CASES.filter(({ caller, route }) => isAllowed(caller, route)))(
    'is accepted as $caller at $what, and changes no more than that role may',
    async ({ caller, route }) => {
      const credentials = await toCredentials(caller)
      const before = await readAll()
      const answer = await server.request(toPath(route), { ...toRequest(route), ...credentials })
      expect(answer.status).not.toBe(403)
      expect(answer.status).not.toBe(500)
      // The sample password or code is wrong, which is a different error than not being signed in.
      if (answer.status === 401) expect(answer.json().code).toMatch(/^wrong_(password|code|passkey)$/)
      expect(toUntouched(caller, route, await readAll())).toEqual(toUntouched(caller, route, before))
    },
  )
})
