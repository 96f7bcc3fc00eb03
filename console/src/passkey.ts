import type {
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
} from '@simplewebauthn/browser'
import { type ApiClient, ApiError } from './api-client.ts'

/** Browsers offer passkeys only over https and on localhost, and never for an IP address. */
export const hasPasskeys = (): boolean =>
  'PublicKeyCredential' in globalThis && isSecureContext && !/^(\d+\.){3}\d+$|^\[/.test(location.hostname)

/** Makes a passkey on this device, or on another one that the user chooses. */
export async function createPasskey(api: ApiClient): Promise<object> {
  const options = await api.post<PublicKeyCredentialCreationOptionsJSON>(
    '/admin/session/factors/passkeys/begin',
  )
  const { startRegistration } = await import('@simplewebauthn/browser')
  return startRegistration({ optionsJSON: options }).catch(refuse)
}

/** Uses a passkey. `path` gives the options. */
export async function usePasskey(api: ApiClient, path: string): Promise<object> {
  const options = await api.post<PublicKeyCredentialRequestOptionsJSON>(path)
  const { startAuthentication } = await import('@simplewebauthn/browser')
  return startAuthentication({ optionsJSON: options }).catch(refuse)
}

/** Browsers do not say whether the user cancelled or there is no passkey. */
function refuse(error: unknown): never {
  const isKnown = error instanceof Error && error.name === 'InvalidStateError'
  throw new ApiError(
    0,
    'passkey',
    isKnown
      ? 'This device has a passkey for this account already.'
      : 'The browser did not finish: it was cancelled, took too long, or found no passkey.',
  )
}
