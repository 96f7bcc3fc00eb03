import { hash, type KeyObject } from 'node:crypto'
import type { Configuration, CustomFetch } from 'openid-client'
import { type ClaimRules, type Claims, findSsoAccount, toSignInTime } from '../accounts/accounts.ts'
import type { Config } from '../context/config.ts'
import { AdminError } from '../contract/error.ts'
import { HOUR_MS, MINUTE_MS, steadyNow } from '../contract/time.ts'
import { seal, toAssociatedData, unseal } from '../crypto/seal.ts'
import type { App } from '../http/app.ts'
import type { Exchange, Reply } from '../http/exchange.ts'
import { isLoopback } from '../settings/setting.ts'
import { openFetch } from '../sources/http.ts'
import { isPrivateAddress } from '../sources/public-address.ts'
import type { AdminDeps } from './admin-deps.ts'
import {
  readDeviceCookie,
  readNamedCookie,
  readSessionCookie,
  refuseForeignSite,
  toCookieName,
  toDeviceCookie,
  toSessionCookie,
} from './authorize.ts'
import { toOrigin } from './sessions.ts'

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

type OidcOptions = {
  readonly issuer: string
  readonly clientId: string
  /** A client without a secret is public, and has PKCE only. */
  readonly clientSecret: string | undefined
  readonly scopes: string
  readonly allowPrivate: boolean
  /** Read from the user info endpoint if the ID token does not have it. */
  readonly roleClaim: string
}

/** What the browser must bring back from the provider. */
type OidcChecks = { readonly state: string; readonly nonce: string; readonly verifier: string }

type OidcStart = { readonly url: string; readonly checks: OidcChecks }

/** A client of an OpenID Connect provider: authorization code flow with PKCE. */
export type OidcClient = {
  /** `isConfirm`: the user must sign in again, even with an open session at the provider. */
  readonly begin: (redirectUri: string, isConfirm: boolean) => Promise<OidcStart>
  /** The claims of the person who came back. Throws if anything does not fit. */
  readonly finish: (callback: URL, checks: OidcChecks, isConfirm: boolean) => Promise<Claims>
  readonly close: () => Promise<void>
}

/** Of a confirmation: how long ago the user may have signed in at the provider. */
const CONFIRM_AGE_S = 300
/** How long the endpoints and keys of the provider are used before they are read again. */
const DISCOVERED_MS = HOUR_MS

/** Loaded with the first use, so that the server starts faster and needs less memory. */
const load = () => import('openid-client')

export function createOidcClient(options: OidcOptions): OidcClient {
  const { issuer, scopes, roleClaim, allowPrivate } = options
  const { send, close } = openFetch(allowPrivate || isPrivateAddress(new URL(issuer).hostname))
  let discovered: { readonly config: Promise<Configuration>; readonly at: number } | undefined
  const readConfig = (): Promise<Configuration> => {
    if (discovered && performance.now() - discovered.at < DISCOVERED_MS) return discovered.config
    const config = discover(options, send as unknown as CustomFetch)
    discovered = { config, at: performance.now() }
    config.catch(() => {
      discovered = undefined
    })
    return config
  }
  return {
    begin: async (redirectUri, isConfirm) => {
      const oidc = await load()
      const config = await readConfig()
      const checks = {
        state: oidc.randomState(),
        nonce: oidc.randomNonce(),
        verifier: oidc.randomPKCECodeVerifier(),
      }
      const url = oidc.buildAuthorizationUrl(config, {
        redirect_uri: redirectUri,
        scope: scopes,
        state: checks.state,
        nonce: checks.nonce,
        code_challenge: await oidc.calculatePKCECodeChallenge(checks.verifier),
        code_challenge_method: 'S256',
        ...(isConfirm && { prompt: 'login', max_age: String(CONFIRM_AGE_S) }),
      })
      return { url: url.href, checks }
    },
    finish: async (callback, { state, nonce, verifier }, isConfirm) => {
      const oidc = await load()
      const config = await readConfig()
      const tokens = await oidc.authorizationCodeGrant(config, callback, {
        expectedState: state,
        expectedNonce: nonce,
        pkceCodeVerifier: verifier,
        idTokenExpected: true,
        ...(isConfirm && { maxAge: CONFIRM_AGE_S }),
      })
      const claims = tokens.claims()
      if (!claims) throw new Error('the provider sent no ID token')
      const outer = roleClaim.split('.')[0] ?? ''
      if (roleClaim in claims || outer in claims || !config.serverMetadata().userinfo_endpoint) return claims
      return { ...(await oidc.fetchUserInfo(config, tokens.access_token, claims.sub)), ...claims }
    },
    close,
  }
}

async function discover(options: OidcOptions, send: CustomFetch): Promise<Configuration> {
  const oidc = await load()
  const { clientId, clientSecret } = options
  const issuer = new URL(options.issuer)
  const insecure =
    issuer.protocol === 'http:' && isLoopback(issuer.hostname) ? [oidc.allowInsecureRequests] : []
  const found = await oidc.discovery(issuer, clientId, undefined, oidc.None(), {
    [oidc.customFetch]: send,
    execute: insecure,
  })
  const metadata = found.serverMetadata()
  const config = new oidc.Configuration(
    metadata,
    clientId,
    {},
    toAuthentication(oidc, clientSecret, metadata),
  )
  config[oidc.customFetch] = send
  // The ID token came from the provider itself, over TLS. Its signature is checked too, against the keys that it publishes: a
  // proxy that ends TLS, or a mistake of ours in the address, must not be able to name a person.
  oidc.enableNonRepudiationChecks(config)
  for (const allow of insecure) allow(config)
  return config
}

/** The default of OpenID Connect is Basic; a provider lists what it accepts. */
function toAuthentication(
  oidc: typeof import('openid-client'),
  secret: string | undefined,
  {
    token_endpoint_auth_methods_supported: methods = ['client_secret_basic'],
  }: {
    readonly token_endpoint_auth_methods_supported?: string[]
  },
) {
  if (secret === undefined) return oidc.None()
  return methods.includes('client_secret_basic')
    ? oidc.ClientSecretBasic(secret)
    : oidc.ClientSecretPost(secret)
}

type SsoOptions = { readonly client: OidcOptions; readonly rules: ClaimRules }

/** Undefined if single sign-on is not configured. */
export function toSsoOptions(config: Config): SsoOptions | undefined {
  const { oidcIssuer: issuer, oidcClientId: clientId, oidcRoles: roles, oidcRoleClaim: roleClaim } = config
  if (issuer === undefined || clientId === undefined || roles === undefined) return undefined
  return {
    client: {
      issuer,
      clientId,
      clientSecret: config.oidcClientSecret,
      scopes: config.oidcScopes,
      allowPrivate: config.oidcPrivate === 'on',
      roleClaim,
    },
    rules: { nameClaim: config.oidcNameClaim, roleClaim, roles },
  }
}

/** What is kept in the browser while it is at the provider. */
type SsoState = OidcChecks & {
  readonly redirectUri: string
  readonly expiresAt: number
  /** The session that asked for a confirmation. It is replaced. */
  readonly session?: string
}

const COOKIE = 'tabbat_sso'
const LIFE_MS = 10 * MINUTE_MS
const DATA = toAssociatedData('sso-state', hash('sha256', COOKIE, 'buffer'), 1)

/**
 * Sealed in a cookie, so that every node can finish what another began, and another browser cannot. `Lax`: the provider sends
 * the browser back from another site, and then a strict cookie is not sent.
 */
function toStateCookie(key: KeyObject, state: Omit<SsoState, 'expiresAt'>, isSecure: boolean): string {
  const plain = Buffer.from(JSON.stringify({ ...state, expiresAt: steadyNow() + LIFE_MS }))
  return toCookie(seal(key, plain, DATA).toString('base64url'), isSecure, LIFE_MS / 1000)
}

const toEndedStateCookie = (isSecure: boolean): string => toCookie('', isSecure, 0)

const toCookie = (value: string, isSecure: boolean, seconds: number) =>
  `${toCookieName(COOKIE, isSecure)}=${value}; Path=/; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}; Max-Age=${seconds}`

/** Undefined if there is none, it was changed, or it has expired. */
function readStateCookie(
  key: KeyObject,
  header: string | undefined,
  isSecure: boolean,
): SsoState | undefined {
  const value = readNamedCookie(header, COOKIE, isSecure)
  if (value === undefined) return undefined
  try {
    const state = JSON.parse(unseal(key, Buffer.from(value, 'base64url'), DATA).toString()) as SsoState
    return state.expiresAt > steadyNow() ? state : undefined
  } catch {
    return undefined
  }
}
