import { readBearerToken } from '../accounts/admin-tokens.ts'
import { isConfirmed, lacksFactor } from '../accounts/sessions.ts'
import { UNATTENDED_HEADER } from '../contract/activity.ts'
import { AdminError } from '../contract/error.ts'
import { type Actor, isAtLeast } from '../contract/role.ts'
import { AppError } from '../errors.ts'
import type { Exchange } from '../http/exchange.ts'
import type { AdminDeps } from './admin-deps.ts'
import { type AdminRoute, refusesTokens } from './route.ts'

const ANONYMOUS: Actor = { name: '', role: 'viewer', session: '' }

/** Returns the account or the token that makes the request. Throws if there is none, or if it may not do this. */
export async function authorize(
  deps: AdminDeps,
  route: AdminRoute,
  exchange: Exchange,
  isActivity = isAttended(route, exchange),
): Promise<Actor> {
  const token = readBearerToken(exchange.headers.authorization)
  // A page of another site cannot send this header, so the checks of the site are for cookies only.
  const actor =
    token === undefined || route.role === 'anyone'
      ? await authorizeSession(deps, route, exchange, isActivity)
      : await deps.checkToken(token, deps.addresses.callerOf(exchange))
  if (actor.token !== undefined && refusesTokens(route)) throw new AdminError('session_required')
  if (route.role !== 'anyone' && !isAtLeast(actor.role, route.role)) throw new AdminError('wrong_role')
  if (route.role !== 'anyone') requireProof(deps, route, actor)
  return actor
}

/** A second factor if the role requires one, and for a sensitive route a recent confirmation. */
function requireProof({ context }: AdminDeps, { isForSetup, isSensitive }: AdminRoute, actor: Actor): void {
  if (!isForSetup && lacksFactor(actor, context.config.twoFactor))
    throw new AdminError('set_up_second_factor')
  if (isSensitive && !isConfirmed(actor)) throw new AdminError('confirm_first')
}

/** Whether the caller may still do what it has begun. Does not extend the session. */
export async function isAllowed(deps: AdminDeps, route: AdminRoute, exchange: Exchange): Promise<boolean> {
  try {
    await authorize(deps, route, exchange, false)
    return true
  } catch (error) {
    if (error instanceof AdminError) return false
    throw error
  }
}

/** Browsers open streams of events again by themselves, and cannot mark them. */
const isAttended = ({ stream }: AdminRoute, { headers }: Exchange): boolean =>
  headers[UNATTENDED_HEADER] === undefined && stream !== 'text/event-stream'

/** Returns the signed-in account. Throws if the request is from another site or not signed in. */
async function authorizeSession(
  deps: AdminDeps,
  { role, method, worksWithoutStore = false, isUpload = false }: AdminRoute,
  exchange: Exchange,
  isActivity: boolean,
): Promise<Actor> {
  refuseForeignSite(method, exchange)
  if (method !== 'GET') refuseForeignOrigin(deps, exchange, isUpload ? UPLOAD_TYPE : JSON_TYPE)
  if (role === 'anyone') return ANONYMOUS
  const cookie = readSessionCookie(exchange.headers.cookie, deps.addresses.isSecure(exchange))
  const actor =
    cookie === undefined
      ? undefined
      : await deps.authentication.findActor(cookie, { isActivity, worksWithoutStore })
  if (!actor) throw new AdminError('signed_out')
  return actor
}

/**
 * A page of another site, or of another port of this host, can make the browser send our cookie, but cannot fake
 * `Sec-Fetch-Site`. Reads are refused too, because some of them write audit rows. `none` is an address typed by the user.
 */
export function refuseForeignSite(method: AdminRoute['method'], { headers }: Exchange): void {
  const site = headers['sec-fetch-site'] ?? 'same-origin'
  if (site === 'same-origin' || (site === 'none' && method === 'GET')) return
  throw new AdminError('foreign_origin')
}

const JSON_TYPE = /^application\/json\s*(;|$)/i
const UPLOAD_TYPE = /^(application\/json|application\/x-ndjson|text\/csv)\s*(;|$)/i

/** For browsers without `Sec-Fetch-Site`: checks Origin, and requires a type that needs a preflight from another site. */
function refuseForeignOrigin({ addresses }: AdminDeps, exchange: Exchange, type: RegExp): void {
  const { headers } = exchange
  const { origin } = headers
  if (origin !== undefined && !isSameHost(origin, addresses.hostOf(exchange)))
    throw new AdminError('foreign_origin')
  if (!type.test(headers['content-type'] ?? '')) throw new AppError('unsupported_media_type')
}

function isSameHost(origin: string, host: string): boolean {
  return URL.canParse(origin) && new URL(origin).host === host
}

/** Over TLS the prefix `__Host-` makes browsers reject a cookie that is not Secure or was set by another host. */
export const SESSION_COOKIE = 'tabbat_console'
const SECURE = `__Host-${SESSION_COOKIE}`

export const toCookieName = (name: string, isSecure: boolean) => (isSecure ? `__Host-${name}` : name)

export const readNamedCookie = (
  header: string | undefined,
  name: string,
  isSecure: boolean,
): string | undefined => readCookie(header, toCookieName(name, isSecure))

export const readSessionCookie = (header: string | undefined, isSecure: boolean): string | undefined =>
  readCookie(header, isSecure ? SECURE : SESSION_COOKIE)

/** Over TLS the plain name is ignored: a server on another port or a network attacker could have set it. */
function readCookie(header: string | undefined, wanted: string): string | undefined {
  for (const part of (header ?? '').split(';')) {
    const [name = '', value = ''] = part.trim().split('=', 2)
    if (name === wanted && value !== '') return value
  }
  return undefined
}

/** Set-Cookie for a session. Without a token it deletes the cookie. It ends with the browser session. */
export function toSessionCookie(token: string | undefined, isSecure: boolean): string {
  const name = isSecure ? SECURE : SESSION_COOKIE
  const life = token === undefined ? '; Max-Age=0' : ''
  return `${name}=${token ?? ''}; Path=/; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}${life}`
}

const DEVICE = 'tabbat_device'
const DEVICE_LIFE_S = 90 * 86_400

/** Marks a browser that has signed in before. It gives no access. */
export const readDeviceCookie = (header: string | undefined, isSecure: boolean): string | undefined =>
  readCookie(header, isSecure ? `__Host-${DEVICE}` : DEVICE)

export function toDeviceCookie(token: string, isSecure: boolean): string {
  const name = isSecure ? `__Host-${DEVICE}` : DEVICE
  return `${name}=${token}; Path=/; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}; Max-Age=${DEVICE_LIFE_S}`
}
