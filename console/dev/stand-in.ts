import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { extname, join } from 'node:path'
import type { ChainCheck } from '../../src/admin/shapes/audit.ts'
import type { Overview } from '../../src/admin/shapes/overview.ts'
import type { Account, Session } from '../../src/admin/shapes/session.ts'
import {
  ago,
  CHANGES,
  SETTINGS,
  TRY_FORMS,
  toAuditPage,
  toCatalogue,
  toKeys,
  toOverview,
  toPersonBody,
  toRecord,
  toSourceList,
  toStory,
} from './made-up.ts'

/*
 * Looks like the admin listener to the page, with people and numbers that are made up: npm run dev:console.
 * Any password of 12 characters signs in. The name says the role: viewer…, operator…, all others are owners; with
 * `empty` in it nothing has happened yet.
 */

const PORT = Number(process.argv[2] ?? 8081)
const DIST = join(import.meta.dirname, '../dist')
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; font-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
const KINDS: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
}

type Body = Record<string, unknown>
type Ask = {
  readonly body: Body
  readonly query: URLSearchParams
  readonly name: string
  readonly part: string
}

class Refused extends Error {
  readonly status: number
  readonly code: string

  constructor(status: number, code: string, message: string) {
    super(message)
    this.status = status
    this.code = code
  }
}

const disabled = new Set<string>()
let version = 3
let check: ChainCheck = {
  state: 'none',
  rows: 0,
  total: 0,
  chains: 0,
  checkpoints: 0,
  unsigned: 0,
  seconds: 0,
  started_at: null,
  started_by: null,
  fault: null,
}

const toRole = (name: string) =>
  name.startsWith('viewer') ? 'viewer' : name.startsWith('operator') ? 'operator' : 'owner'

const toSession = (name: string): Session => ({
  name,
  role: toRole(name),
  idle_until: ago(-15 * 60_000),
  expires_at: ago(-8 * 3_600_000),
  version: '0.1.0',
})

const toAccount = (name: string): Account => ({
  name,
  role: toRole(name),
  created_at: ago(30 * 86_400_000),
  last_seen_at: name === 'viewer-bola' ? null : ago(60_000),
})

const toInvited = (role: unknown) => ({
  token: randomBytes(32).toString('base64url'),
  role,
  expires_at: ago(-86_400_000),
})

const toMade = () => ({
  key: `tbt_test_${randomBytes(23).toString('hex')}`,
  row: toKeys().keys[0],
})

function runCheck(name: string): ChainCheck {
  const total = 2_400_000
  const begun = Date.now()
  const common = {
    total,
    chains: 2,
    checkpoints: 812,
    unsigned: 14,
    started_at: ago(0),
    started_by: name,
    fault: null,
  }
  check = { ...common, state: 'running', rows: 0, seconds: 0 }
  const timer = setInterval(() => {
    const seconds = (Date.now() - begun) / 1000
    const rows = Math.min(total, Math.round(seconds * 600_000))
    check = { ...common, state: rows === total ? 'sound' : 'running', rows, seconds }
    if (rows === total) clearInterval(timer)
  }, 200)
  return check
}

function toOutcome({ body }: Ask) {
  const isDry = body.dry_run === true
  if (!isDry) version += 1
  return {
    outcome: isDry ? 'looked' : 'changed',
    version,
    changes: CHANGES,
    doubts: ['A third of the list tv DSTV add-ons would go.'],
  }
}

const readOverview = ({ query, name }: Ask) =>
  toOverview(
    (query.get('range') ?? 'day') as Overview['range'],
    (query.get('mode') ?? 'all') as Overview['mode'],
    name.includes('empty'),
    disabled,
  )

function findAudit({ body, name }: Ask) {
  const page = Number(body.before ?? 0)
  const isEmpty = name.includes('empty') || body.reference === 'nothing'
  return {
    rows: isEmpty ? [] : toAuditPage(page),
    next: isEmpty || page > 1 ? null : String(page + 1),
    searched_back_to: page === 1 ? ago(86_400_000) : null,
    outcomes: ['verified', 'not_verified', 'source_unavailable'],
    phases: ['intent', 'outcome', 'replay', 'key_revoked'],
  }
}

function reveal({ body }: Ask) {
  if (String(body.password).length < 12)
    throw new Refused(401, 'wrong_password', 'The name or the password is wrong.')
  return toRecord(true)
}

const answerTry = ({ body }: Ask) => ({
  status: 200,
  mode: String(body.key ?? '').startsWith('tbt_live') ? 'live' : 'test',
  ms: 41.2,
  headers: {},
  body: String(body.operation).startsWith('verify')
    ? toPersonBody()
    : { success: true, data: [{ code: '624', name: '<script>alert(1)</script>', price: '450' }] },
})

const done = { ok: true }

/** `:` in a path stands for one part, which the answer is given. */
const ANSWERS: Readonly<Record<string, (ask: Ask) => unknown>> = {
  'POST /admin/session/password': () => done,
  'POST /admin/invitations': ({ body }) => toInvited(body.role),
  'GET /admin/accounts': ({ name }) => ({ accounts: [name, 'operator-chidi', 'viewer-bola'].map(toAccount) }),
  'POST /admin/accounts/:/role': () => done,
  'POST /admin/accounts/:/reset': ({ part }) => toInvited(toRole(part)),
  'POST /admin/accounts/:/remove': () => {
    throw new Refused(409, 'refused', 'The last owner cannot be removed.')
  },
  'GET /admin/overview': readOverview,
  'GET /admin/try': () => TRY_FORMS,
  'POST /admin/try': answerTry,
  'GET /admin/keys': ({ name }) => (name.includes('empty') ? { ...toKeys(), keys: [] } : toKeys()),
  'POST /admin/keys': toMade,
  'POST /admin/keys/preview': ({ body }) => ({ answer: toPersonBody(body.hide as string[]) }),
  'POST /admin/keys/:/revoke': () => done,
  'POST /admin/keys/:/roll': toMade,
  'POST /admin/audit/search': findAudit,
  'GET /admin/audit/stories/:': ({ part }) => ({
    reference: part,
    rows: part === 'nothing' ? [] : toStory(),
  }),
  'GET /admin/audit/check': () => check,
  'POST /admin/audit/check': ({ name }) => runCheck(name),
  'GET /admin/catalogue': () => toCatalogue(version),
  'GET /admin/catalogue/diff': () => ({ changes: CHANGES }),
  'POST /admin/catalogue/import': toOutcome,
  'POST /admin/catalogue/sync': toOutcome,
  'POST /admin/catalogue/rollback': toOutcome,
  'GET /admin/sources': ({ name }) =>
    name.includes('empty')
      ? { nin_order: [], bvn_order: [], sources: [], can_check: [] }
      : toSourceList(disabled),
  'POST /admin/sources/:/disable': ({ part }) => {
    disabled.add(part)
    return done
  },
  'POST /admin/sources/:/enable': ({ part }) => {
    disabled.delete(part)
    return done
  },
  'POST /admin/sources/:/check': () => ({
    ok: true,
    asked: 'a NIN that nobody has',
    result: 'not_found',
    ms: 512,
    explanation: 'The vendor answers, and the credentials are right.',
  }),
  'GET /admin/records': ({ name }) =>
    name.includes('empty')
      ? { nin: 0, bvn: 0, pictures: 0 }
      : { nin: 120_431, bvn: 88_020, pictures: 120_000 },
  'POST /admin/records/look': ({ body }) =>
    String(body.number).startsWith('0') ? { found: false, fields: [] } : toRecord(false),
  'POST /admin/records/reveal': reveal,
  'GET /admin/settings': () => SETTINGS,
}

/** These need nobody who has signed in. */
const OPEN: Readonly<Record<string, (body: Body, response: ServerResponse, name: string) => unknown>> = {
  'GET /admin/session': (_body, _response, name) => ({ session: name === '' ? null : toSession(name) }),
  'POST /admin/session/sign-in': ({ name, password }, response) => {
    if (String(password).length < 12)
      throw new Refused(401, 'wrong_password', 'The name or the password is wrong.')
    return enter(String(name), response)
  },
  'POST /admin/session/sign-out': (_body, response) => {
    response.setHeader('set-cookie', 'stand_in=; Path=/; Max-Age=0')
    return done
  },
  'POST /admin/invitations/look': ({ token }) => {
    if (token === 'x'.repeat(43))
      throw new Refused(410, 'invitation_void', 'This link was used, has run out, or was never made.')
    return { role: 'operator', name: null, expires_at: ago(-86_400_000) }
  },
  'POST /admin/invitations/accept': ({ name }, response) => enter(String(name), response),
  'GET /health/live': () => done,
}

function enter(name: string, response: ServerResponse): Session {
  response.setHeader('set-cookie', `stand_in=${encodeURIComponent(name)}; Path=/; HttpOnly; SameSite=Strict`)
  return toSession(name)
}

async function readBody(request: IncomingMessage): Promise<Body> {
  let text = ''
  for await (const piece of request) text += piece
  return text === '' ? {} : (JSON.parse(text) as Body)
}

function sendFile(path: string, response: ServerResponse): void {
  const name = path === '/console' || path === '/console/' ? 'index.html' : path.replace(/^\/console\//, '')
  const file = join(DIST, name)
  if (!file.startsWith(DIST)) throw new Refused(404, 'not_found', 'There is nothing here.')
  response.setHeader('content-security-policy', POLICY)
  response.setHeader('content-type', KINDS[extname(name)] ?? 'application/octet-stream')
  response.end(readFileSync(file))
}

function sendEvents(ask: Ask, response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const send = () => response.write(`event: overview\ndata: ${JSON.stringify(readOverview(ask))}\n\n`)
  send()
  const timer = setInterval(send, 5000)
  response.on('close', () => clearInterval(timer))
}

const toRoute = (method: string, path: string) =>
  ANSWERS[`${method} ${path}`]
    ? { answer: ANSWERS[`${method} ${path}`], part: '' }
    : {
        answer: ANSWERS[`${method} ${path.replace(/^(\/admin\/\w+(?:\/stories)?\/)[^/]+/, '$1:')}`],
        part: decodeURIComponent(/^\/admin\/\w+(?:\/stories)?\/([^/]+)/.exec(path)?.[1] ?? ''),
      }

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { method = 'GET', url = '/', headers } = request
  const { pathname, searchParams: query } = new URL(url, 'http://stand-in')
  if (pathname.startsWith('/console')) return sendFile(pathname, response)
  const body = await readBody(request)
  const open = OPEN[`${method} ${pathname}`]
  const name = decodeURIComponent(/stand_in=([^;]+)/.exec(headers.cookie ?? '')?.[1] ?? '')
  const send = (value: unknown) =>
    response.setHeader('content-type', 'application/json').end(JSON.stringify(value))
  if (open) return void send(open(body, response, name))
  if (name === '') throw new Refused(401, 'signed_out', 'Sign in first.')
  const { answer: known, part } = toRoute(method, pathname)
  const ask = { body, query, name, part }
  if (pathname === '/admin/events') return sendEvents(ask, response)
  if (!known) throw new Refused(404, 'not_found', 'There is nothing here.')
  send(known(ask))
}

createServer((request, response) => {
  answer(request, response).catch((thrown: unknown) => {
    const { status, code, message } =
      thrown instanceof Refused ? thrown : new Refused(500, 'internal', 'The stand-in failed.')
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ success: false, code, message, retryable: false, request_id: 'stand-in' }))
  })
}).listen(PORT, '127.0.0.1', () =>
  process.stdout.write(`The console with made-up numbers: http://127.0.0.1:${PORT}/console\n`),
)
