import { isIP } from 'node:net'
import { UserError } from '../errors.ts'

/** The address of the console in the browser. A passkey is bound to the host name. */
export type PasskeySite = { readonly host: string; readonly origin: string }

/** From the Host header, which the listener has checked. */
export function toPasskeySite(hostHeader: string, isSecure: boolean): PasskeySite {
  const text = hostHeader.toLowerCase()
  const host = text.replace(/:\d{1,5}$/, '')
  if (host.startsWith('[') || isIP(host) !== 0)
    throw new UserError(
      'Passkeys need a host name, and this address is a number. Open the console as http://localhost, or under its host name with https.',
    )
  if (!isSecure && host !== 'localhost')
    throw new UserError('Passkeys need https, or the host name localhost. See docs/console.md.')
  return { host, origin: `${isSecure ? 'https' : 'http'}://${text}` }
}
