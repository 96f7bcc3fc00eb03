import type { Keyring } from '../crypto/keyring.ts'
import type { Authenticate } from '../keys/authenticate.ts'
import type { RequestLog } from '../requests/request-log.ts'
import { toStoredId } from '../requests/stored-id.ts'
import type { Exchange } from './exchange.ts'

type Finished = { readonly status: number; readonly outcome: string; readonly durationMs: number }

/** Adds a request to the request log. Undefined: the log is off. */
export type RecordRequest = (exchange: Exchange, finished: Finished) => void

/** The key of a request, also of one that was refused because the key is revoked or has expired. */
type KeyOfRequest = { readonly keyId: string; readonly mode: string }

/** Look-ups of keys under way whose requests were answered before. Beyond this, a request is counted without its key. */
const MAX_LOOKUPS = 100

type RecordDeps = {
  readonly requests: RequestLog | undefined
  readonly keyring: () => Keyring
  readonly authenticate: Authenticate
}

export function createRecordRequest({
  requests,
  keyring,
  authenticate,
}: RecordDeps): RecordRequest | undefined {
  if (!requests) return undefined
  const idKey = keyring()['request-id']
  let lookups = 0

  const add = (exchange: Exchange, key: KeyOfRequest, { status, outcome, durationMs }: Finished) => {
    const { id, isOwnId, reference, operation, raw, wrongFields } = exchange
    requests.add({
      requestId: isOwnId ? id : toStoredId(idKey, id),
      reference,
      keyId: key.keyId,
      mode: key.mode,
      operation,
      method: raw.method ?? '',
      status,
      code: outcome,
      durationMs,
      fields: wrongFields,
    })
  }
  /** A path that no route has was answered without looking at the key. */
  const findKey = async (exchange: Exchange): Promise<KeyOfRequest | undefined> => {
    const caller = await authenticate(exchange.headers.authorization, exchange)
    return caller ?? exchange.unusableKey
  }
  const addLater = async (exchange: Exchange, finished: Finished) => {
    lookups += 1
    const key = await findKey(exchange).catch(() => undefined)
    lookups -= 1
    if (key) add(exchange, key, finished)
    else requests.countKeyless(finished.status)
  }
  return (exchange, finished) => {
    const key = exchange.caller ?? exchange.unusableKey
    if (key) add(exchange, key, finished)
    else if (isUnrouted(exchange) && lookups < MAX_LOOKUPS) requests.addLater(addLater(exchange, finished))
    else requests.countKeyless(finished.status)
  }
}

const isUnrouted = ({ operation, headers }: Exchange) =>
  operation === 'unknown' && headers.authorization !== undefined
