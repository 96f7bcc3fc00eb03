import { hash, type KeyObject } from 'node:crypto'
import { MINUTE_MS, steadyNow } from '../contract/time.ts'
import { seal, toAssociatedData, unseal } from '../crypto/seal.ts'
import type { OidcChecks } from './oidc-client.ts'
import { readNamedCookie, toCookieName } from './session-cookie.ts'

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
export function toStateCookie(key: KeyObject, state: Omit<SsoState, 'expiresAt'>, isSecure: boolean): string {
  const plain = Buffer.from(JSON.stringify({ ...state, expiresAt: steadyNow() + LIFE_MS }))
  return toCookie(seal(key, plain, DATA).toString('base64url'), isSecure, LIFE_MS / 1000)
}

export const toEndedStateCookie = (isSecure: boolean): string => toCookie('', isSecure, 0)

const toCookie = (value: string, isSecure: boolean, seconds: number) =>
  `${toCookieName(COOKIE, isSecure)}=${value}; Path=/; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}; Max-Age=${seconds}`

/** Undefined if there is none, it was changed, or it has expired. */
export function readStateCookie(
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
