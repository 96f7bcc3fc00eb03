import { findSsoAccount, toSignInTime } from '../accounts/sso-account.ts'
import { AdminError } from '../contract/admin-error.ts'
import type { App } from '../http/app.ts'
import type { Exchange, Reply } from '../http/exchange.ts'
import type { AdminDeps } from './admin-deps.ts'
import { refuseForeignSite } from './authorize.ts'
import type { OidcClient } from './oidc-client.ts'
import { toOrigin } from './routes/session.ts'
import { readDeviceCookie, readSessionCookie, toDeviceCookie, toSessionCookie } from './session-cookie.ts'
import type { SsoOptions } from './sso-options.ts'
import { readStateCookie, toEndedStateCookie, toStateCookie } from './sso-state.ts'

const CALLBACK = '/admin/sso/callback'
const NO_STORE = ['cache-control', 'no-store', 'referrer-policy', 'no-referrer']

/**
 * Single sign-on: `/admin/sso/start` sends the browser to the provider, which sends it back to `/admin/sso/callback`. With
 * `?confirm=1`, the user must sign in again there. Problems are shown on the sign-in page: the address names only the kind.
 */
export function addSso(app: App, deps: AdminDeps, client: OidcClient, { rules }: SsoOptions): void {
  const { context, addresses, authentication } = deps
  const key = () => context.keyring()['second-factor']
  const toFailure = (exchange: Exchange, thrown: unknown): Reply => {
    const code = thrown instanceof AdminError ? thrown.code : 'sso_failed'
    exchange.outcome = code
    // Its kind and place only: the message may quote the provider.
    if (!(thrown instanceof AdminError)) context.log.failure(thrown, exchange.id)
    const ended = toEndedStateCookie(addresses.isSecure(exchange))
    return toRedirect(`/console#/sign-in/${code}`, ['set-cookie', ended])
  }

  const start = async (exchange: Exchange): Promise<Reply> => {
    const isSecure = addresses.isSecure(exchange)
    const redirectUri = `${isSecure ? 'https' : 'http'}://${addresses.hostOf(exchange)}${CALLBACK}`
    const isConfirm = new URLSearchParams(exchange.search).get('confirm') === '1'
    const { url, checks } = await client.begin(redirectUri, isConfirm).catch((error: unknown) => {
      context.log.failure(error, exchange.id)
      throw new AdminError('sso_unavailable')
    })
    const session = isConfirm ? readSessionCookie(exchange.headers.cookie, isSecure) : undefined
    const state = { ...checks, redirectUri, ...(session !== undefined && { session }) }
    return toRedirect(url, ['set-cookie', toStateCookie(key(), state, isSecure)])
  }

  const finish = async (exchange: Exchange): Promise<Reply> => {
    const isSecure = addresses.isSecure(exchange)
    const { cookie } = exchange.headers
    const state = readStateCookie(key(), cookie, isSecure)
    if (!state) throw new AdminError('sso_expired')
    const callback = new URL(`${state.redirectUri}?${exchange.search.replace(/^\?/, '')}`)
    const claims = await client.finish(callback, state, state.session !== undefined)
    const { store, audit } = context
    const account = await findSsoAccount({ store, audit, key: key() }, claims, rules)
    const tokens = await authentication.openSsoSession(account, {
      ...toOrigin(deps, exchange),
      device: readDeviceCookie(cookie, isSecure),
      confirmedAt: toSignInTime(claims),
    })
    if (state.session !== undefined) await authentication.endToken(state.session)
    const cookies = [
      toSessionCookie(tokens.session, isSecure),
      toDeviceCookie(tokens.device, isSecure),
      toEndedStateCookie(isSecure),
    ]
    return toRedirect(
      '/console',
      cookies.flatMap((text) => ['set-cookie', text]),
    )
  }

  const common = { methods: ['GET'] }
  app.route({
    ...common,
    path: '/admin/sso/start',
    operation: 'sso_start',
    answer: async (exchange) => {
      refuseForeignSite('GET', exchange)
      return start(exchange).catch((error: unknown) => toFailure(exchange, error))
    },
  })
  app.route({
    ...common,
    path: CALLBACK,
    operation: 'sso_callback',
    answer: (exchange) => finish(exchange).catch((error: unknown) => toFailure(exchange, error)),
  })
}

const toRedirect = (location: string, headers: readonly string[]): Reply => ({
  status: 302,
  headers: [...NO_STORE, 'location', location, ...headers],
  body: '',
})
