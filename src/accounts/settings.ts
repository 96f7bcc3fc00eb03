import { ROLES, type Role } from '../contract/role.ts'
import type { Environment } from '../settings/read-settings.ts'
import {
  baseUrl,
  credential,
  InvalidSetting,
  isLoopback,
  oneOf,
  orOff,
  plain,
  type Setting,
  setting,
} from '../settings/setting.ts'

const roles = (text: string): Role[] => {
  const list = text.split(',').map((part) => part.trim().toLowerCase())
  const known = list.map((name) => ROLES.find((role) => role === name))
  if (known.every((role) => role !== undefined)) return known
  throw new InvalidSetting(`must be roles separated by commas, out of: ${ROLES.join(', ')}; or off`)
}

/** https, but for this machine: others on the network could read the codes. */
const issuerUrl = (text: string) => {
  const url = baseUrl(text)
  const { protocol, hostname } = new URL(url)
  if (protocol === 'https:' || isLoopback(hostname)) return url
  throw new InvalidSetting('must begin with https://')
}

/** `operator=tabbat-operators,viewer=staff` */
const roleMap = (text: string): Partial<Record<Role, readonly string[]>> => {
  const found: Partial<Record<Role, string[]>> = {}
  for (const part of text.split(',')) {
    const [, name, value = ''] = /^\s*([a-z]+)\s*=\s*(.*\S)\s*$/.exec(part) ?? []
    if (name === 'owner')
      throw new InvalidSetting('must not give the role owner: an owner gives it on the page Accounts')
    if (name !== 'viewer' && name !== 'operator')
      throw new InvalidSetting('must be such as operator=tabbat-operators,viewer=staff')
    found[name] = [...(found[name] ?? []), value]
  }
  return found
}

/** Who may sign in to the console, and how. */
export const ACCESS_SETTINGS = {
  twoFactor: setting(
    'TABBAT_TWO_FACTOR',
    'off',
    orOff(roles),
    'Roles of the console that must have a second factor, separated by commas, for example operator,owner; or off. An account of such a role that has none can only set one up. See docs/console.md.',
  ),
  oidcIssuer: setting(
    'TABBAT_OIDC_ISSUER',
    undefined,
    issuerUrl,
    'Issuer of an OpenID Connect provider for single sign-on to the console, for example https://login.example.com/realms/staff. Its redirect URI is the URL of the console with the path /admin/sso/callback. Unset: no single sign-on. See docs/console.md.',
  ),
  oidcClientId: setting(
    'TABBAT_OIDC_CLIENT_ID',
    undefined,
    credential,
    'Client id of Tabbat at the OpenID Connect provider.',
  ),
  oidcClientSecret: setting(
    'TABBAT_OIDC_CLIENT_SECRET',
    undefined,
    credential,
    'Client secret of Tabbat at the OpenID Connect provider. Unset: a public client.',
    true,
  ),
  oidcRoles: setting(
    'TABBAT_OIDC_ROLES',
    undefined,
    roleMap,
    'Which values of the role claim give which role, for example operator=tabbat-operators,viewer=staff. A role may be named several times. The role owner cannot be given in this way.',
  ),
  oidcRoleClaim: setting(
    'TABBAT_OIDC_ROLE_CLAIM',
    'groups',
    plain,
    'Claim with the groups or roles of the person: a list or a text. A dot reads a claim inside another, for example realm_access.roles.',
  ),
  oidcNameClaim: setting(
    'TABBAT_OIDC_NAME_CLAIM',
    'preferred_username',
    plain,
    'Claim that names a new account. Of an e-mail address, the part before the @ is used.',
  ),
  oidcScopes: setting(
    'TABBAT_OIDC_SCOPES',
    'openid profile',
    plain,
    'Scopes that are asked of the OpenID Connect provider, separated by spaces. They must include openid.',
  ),
  oidcPrivate: setting(
    'TABBAT_OIDC_PRIVATE',
    'off',
    oneOf('on', 'off'),
    'Whether the OpenID Connect provider may have private IP addresses. An issuer that is itself such an address is always allowed.',
  ),
} satisfies Record<string, Setting<unknown>>

const TOGETHER = ['TABBAT_OIDC_ISSUER', 'TABBAT_OIDC_CLIENT_ID', 'TABBAT_OIDC_ROLES'] as const

/** Settings that need each other. */
export function listSsoProblems(given: Environment): string[] {
  const missing = TOGETHER.filter((name) => given[name] === undefined)
  const hasSecret = (given.TABBAT_OIDC_CLIENT_SECRET ?? given.TABBAT_OIDC_CLIENT_SECRET_FILE) !== undefined
  if (missing.length === 0 || (missing.length === TOGETHER.length && !hasSecret)) return []
  return [`Single sign-on also needs ${missing.join(' and ')}`]
}
