import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { createToken, toTokenId } from '../../src/accounts/accounts.ts'
import type { Cost } from '../../src/accounts/passwords.ts'
import { toSessionMacs } from '../../src/accounts/sessions.ts'
import { createAuthentication } from '../../src/admin/authentication.ts'
import { buildAdminServer } from '../../src/admin/server.ts'
import type { Context } from '../../src/context/context.ts'
import { toCommandAuthor } from '../../src/contract/free-text.ts'
import type { Role } from '../../src/contract/role.ts'
import { openTestApp, type TestApp } from '../app.ts'

export type TestRequest = {
  readonly method?: 'GET' | 'POST'
  readonly cookie?: string | undefined
  readonly headers?: Readonly<Record<string, string>>
  /** An object is sent as JSON, a string unchanged. */
  readonly body?: unknown
}

export type TestResponse = {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly text: string
  readonly json: () => Record<string, unknown>
}

export type TestConsole = TestApp & {
  readonly url: string
  readonly request: (path: string, options?: TestRequest) => Promise<TestResponse>
  /** The cookie of a new session. Creates the account if needed; it has no usable password. */
  readonly openSession: (role: Role, name?: string) => Promise<string>
}

/** The least that argon2 takes. A password of the usual cost takes 100 ms of processor time. */
const QUICK: Cost = { memory: 8, passes: 1, parallelism: 1 }

export const createQuickAuthentication = (context: Context, now?: () => number) =>
  createAuthentication(context, now, QUICK)

/** The admin listener on a socket, with its own database. */
export async function openTestConsole(settings: Record<string, string> = {}): Promise<TestConsole> {
  const server = await openTestApp(settings)
  const authentication = createQuickAuthentication(server.context)
  const admin = buildAdminServer(server.context, server.app, { authentication })
  const url = await admin.listen({ host: '127.0.0.1', port: 0 })
  return {
    ...server,
    url,
    request: (path, options) => send(`${url}${path}`, options),
    openSession: (role, name = role) => createSession(server.context, role, name),
    close: async () => {
      admin.server.closeAllConnections()
      await admin.close()
      await server.close()
    },
  }
}

/** Uses node:http, because `fetch` sets some headers itself. A stream is closed after its head. */
export async function send(
  url: string,
  { method, cookie, headers, body }: TestRequest = {},
): Promise<TestResponse> {
  const payload = typeof body === 'string' || body === undefined ? body : JSON.stringify(body)
  const sent = request(url, {
    method: method ?? (body === undefined ? 'GET' : 'POST'),
    headers: {
      ...(typeof body === 'object' && { 'content-type': 'application/json' }),
      ...(cookie !== undefined && { cookie }),
      ...headers,
    },
  })
  sent.end(payload)
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  const isStream = /event-stream|ndjson/.test(response.headers['content-type'] ?? '')
  const content = isStream ? '' : await text(response)
  if (isStream) response.destroy()
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    text: content,
    json: () => JSON.parse(content) as Record<string, unknown>,
  }
}

/** `tabbat_console=…`, for the Cookie header. */
export const toCookie = ({ headers }: TestResponse): string => headers['set-cookie']?.[0]?.split(';')[0] ?? ''

export async function createSession(
  { store: { accounts }, keyring }: Context,
  role: Role,
  name: string,
): Promise<string> {
  const [id, now] = [randomBytes(32), Date.now()]
  if (!(await accounts.find(name))) {
    const invitation = {
      id,
      role,
      account: undefined,
      madeBy: toCommandAuthor(),
      createdAt: now,
      expiresAt: now + 1000,
    }
    await accounts.invite(invitation)
    await accounts.accept(id, { name, role, password: 'none', createdAt: now, lastSeenAt: undefined })
  }
  const token = createToken()
  const key = keyring()['console-token']
  const session = toTokenId(key, token) as Uint8Array
  const bound = { id: session, account: name, method: 'password', confirmedAt: now } as const
  const opening = { id: session, account: name, password: 'none', at: now }
  await accounts.open({ ...opening, macs: toSessionMacs(key, bound) })
  return `tabbat_console=${token}`
}

/** After a test has changed sessions in the database: as if the server had written them so. */
export async function bindSessions({ store: { database, accounts }, keyring }: Context): Promise<void> {
  const update = database.prepare('UPDATE sessions SET mac = $1, confirmed_mac = $2 WHERE id = $3')
  for (const row of await accounts.listSessions(undefined, { openedAfter: 0, seenAfter: 0 })) {
    const { mac, confirmedMac } = toSessionMacs(keyring()['console-token'], row)
    await update.run(mac, confirmedMac, row.id)
  }
}
