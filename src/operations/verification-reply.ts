import type { Exchange, Reply } from '../http/exchange.ts'
import { toHeadText } from '../http/send.ts'
import type { VerificationResponse } from '../verification/replay.ts'

const NO_STORE = ['cache-control', 'no-store']
export const FINISHED = [...NO_STORE, 'content-type', 'application/json; charset=utf-8']
const FINISHED_TEXT = toHeadText(FINISHED)
const REPLAYED = [...FINISHED, 'idempotent-replayed', 'true']

const NONE: readonly string[] = []

/** The response of a verification, byte for byte as it was recorded. */
export function toVerificationReply(
  exchange: Exchange,
  { status, body, outcome, reference, replayed, match, headers = NONE }: VerificationResponse,
): Reply {
  exchange.outcome = outcome
  exchange.reference = reference
  if (status === 204) return { status, headers: NO_STORE, body }
  if (match !== undefined || headers.length > 0) {
    const matched = match === undefined ? NONE : ['tabbat-match', match]
    return { status, headers: [...(replayed ? REPLAYED : FINISHED), ...matched, ...headers], body }
  }
  if (replayed || status !== 200) return { status, headers: replayed ? REPLAYED : FINISHED, body }
  return { status, headers: FINISHED, headText: FINISHED_TEXT, body }
}
