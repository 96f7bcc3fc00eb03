import type { Configuration, CustomFetch } from 'openid-client'
import type { Claims } from '../accounts/sso-account.ts'
import { HOUR_MS } from '../contract/time.ts'
import { isLoopback } from '../settings/setting.ts'
import { openFetch } from '../sources/http-fetch.ts'
import { isPrivateAddress } from '../sources/public-address.ts'

export type OidcOptions = {
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
export type OidcChecks = { readonly state: string; readonly nonce: string; readonly verifier: string }

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
