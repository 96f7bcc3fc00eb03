import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'

/** Reading a certificate costs more than a route, and it cannot change during a connection. */
const known = new WeakMap<TLSSocket, string>()

/**
 * The certificate whose private key the caller has proved to hold, as sha256:<hex>; empty without one. It is not checked
 * against an authority or its end: the key names the very certificate.
 */
export function toClientFingerprint(socket: Socket): string {
  if (!isTls(socket)) return ''
  const before = known.get(socket)
  if (before !== undefined) return before
  const fingerprint = socket.getPeerX509Certificate()?.fingerprint256.replaceAll(':', '').toLowerCase()
  const text = fingerprint === undefined ? '' : `sha256:${fingerprint}`
  known.set(socket, text)
  return text
}

/** Without `instanceof`, for which a server without TLS would load 6 MB. */
const isTls = (socket: Socket): socket is TLSSocket => 'encrypted' in socket
