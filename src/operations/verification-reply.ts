import type { Exchange, Reply } from '../http/exchange.ts'
import { toHeadText } from '../http/prepared-head.ts'
import type { VerificationResponse } from '../verification/replay.ts'

const NO_STORE = ['cache-control', 'no-store']
export const FINISHED = [...NO_STORE, 'content-type', 'application/json; charset=utf-8']
const FINISHED_TEXT = toHeadText(FINISHED)
const REPLAYED = [...FINISHED, 'idempotent-replayed', 'true']

/** The response of a verification, byte for byte as it was recorded. */
export function toVerificationReply(
  exchange: Exchange,
  { status, body, outcome, replayed, headers = [] }: VerificationResponse,
): Reply {
  exchange.outcome = outcome
  if (status === 204) return { status, headers: NO_STORE, body }
  if (headers.length > 0) return { status, headers: [...(replayed ? REPLAYED : FINISHED), ...headers], body }
  if (replayed || status !== 200) return { status, headers: replayed ? REPLAYED : FINISHED, body }
  return { status, headers: FINISHED, headText: FINISHED_TEXT, body }
}
