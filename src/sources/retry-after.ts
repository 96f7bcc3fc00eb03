import { MINUTE_MS } from '../contract/time.ts'
import { type Call, SourceError } from './source.ts'

/** A longer Retry-After is cut to this: one call then shows whether the vendor still refuses. */
const MAX_MS = 10 * MINUTE_MS
const STATUSES: readonly number[] = [429, 503]

type Reply = {
  readonly statusCode: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
}

/** The Retry-After of a reply, given in seconds or as an HTTP date. */
export function readRetryAfterMs({ statusCode, headers }: Reply, maxMs = MAX_MS): number | undefined {
  const value = headers['retry-after']
  if (typeof value !== 'string' || !STATUSES.includes(statusCode)) return undefined
  const ms = /^\s*\d{1,9}\s*$/.test(value) ? Number(value) * 1000 : toWaitMs(value, headers.date)
  return ms > 0 ? Math.min(ms, maxMs) : undefined
}

/** A date is compared with the vendor's own clock, which may differ from ours. */
function toWaitMs(value: string, date: string | string[] | undefined): number {
  const now = Date.parse(String(date))
  return Date.parse(value) - (Number.isNaN(now) ? Date.now() : now)
}

/** Adds the vendor's Retry-After to the error of a failed call. */
export async function withRetryAfter<T>(
  work: (onRetryAfter: NonNullable<Call['onRetryAfter']>) => Promise<T>,
): Promise<T> {
  let retryAfterMs: number | undefined
  try {
    return await work((ms) => {
      retryAfterMs = ms
    })
  } catch (error) {
    if (retryAfterMs === undefined || !(error instanceof SourceError) || !isAboutSource(error)) throw error
    const { source, reason, problem, sent, fault } = error
    throw new SourceError(source, reason, { problem, sent, fault, retryAfterMs })
  }
}

/** The error is about the source and not about one request, and the vendor's own code has not set a Retry-After. */
const isAboutSource = ({ reason, fault, retryAfterMs }: SourceError) =>
  fault === 'source' && retryAfterMs === undefined && (reason === 'throttled' || reason === 'unreachable')
