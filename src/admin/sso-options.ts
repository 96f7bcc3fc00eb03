import type { ClaimRules } from '../accounts/sso-account.ts'
import type { Config } from '../config/config.ts'
import type { OidcOptions } from './oidc-client.ts'

export type SsoOptions = { readonly client: OidcOptions; readonly rules: ClaimRules }

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
