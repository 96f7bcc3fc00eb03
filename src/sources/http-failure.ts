import { PrivateAddress } from './public-address.ts'
import { SourceError, type SourceFailure } from './source.ts'
import type { SourceProblem } from './source-problem.ts'

/** How far a request has come. Before it is sent, the vendor cannot charge for it. */
export type Progress = { sent: boolean; answered: boolean }

/** No connection was made in time. */
export class SlowConnection extends Error {
  readonly code = 'SLOW_CONNECTION'
}

/** Drops the error's own message: it may contain the URL, and with it the number. */
export function toSourceError(
  source: string,
  error: unknown,
  { sent, answered }: Progress,
  aborted: boolean,
): SourceError {
  if (error instanceof SourceError) return error
  if (error instanceof PrivateAddress)
    return new SourceError(source, 'refused', { problem: 'private_address', sent: false })
  const code = String((error as { code?: unknown })?.code ?? '')
  if (aborted || code === 'UND_ERR_HEADERS_TIMEOUT' || code === 'UND_ERR_BODY_TIMEOUT')
    return new SourceError(source, 'timeout', { problem: 'too_slow', sent })
  if (!sent) return new SourceError(source, 'unreachable', { problem: toConnectProblem(code), sent })
  const [reason, problem] = toSentMeaning(code, answered)
  return new SourceError(source, reason, { problem, fault: 'source' })
}

function toSentMeaning(code: string, answered: boolean): readonly [SourceFailure, SourceProblem] {
  if (answered) return ['bad_response', 'truncated']
  if (code.startsWith('HPE_') || code === 'UND_ERR_HEADERS_OVERFLOW') return ['bad_response', 'unknown_shape']
  return ['unreachable', 'cut_off']
}

const CONNECT_PROBLEMS: Readonly<Record<string, SourceProblem>> = {
  ENOTFOUND: 'no_such_host',
  EAI_AGAIN: 'no_such_host',
  SLOW_CONNECTION: 'slow_connection',
  UND_ERR_CONNECT_TIMEOUT: 'slow_connection',
  ETIMEDOUT: 'slow_connection',
  // The connection was closed during the TLS handshake.
  ECONNRESET: 'no_tls',
  EPROTO: 'no_tls',
}

/** Why no connection was made. */
function toConnectProblem(code: string): SourceProblem {
  const known = CONNECT_PROBLEMS[code]
  if (known) return known
  if (/CERT|^ERR_TLS|^UNABLE_TO|SELF_SIGNED/.test(code)) return 'bad_certificate'
  return code.startsWith('ERR_SSL') ? 'no_tls' : 'no_connection'
}
