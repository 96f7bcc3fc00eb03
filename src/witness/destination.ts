import { openPost } from '../sources/http.ts'
import { SourceError } from '../sources/source.ts'
import type { Checkpoint } from '../store/audit-table.ts'
import { openWitnessPostgres, openWitnessThread, type WitnessLog } from '../store/witness-log.ts'
import { VERSION } from '../version.ts'
import type { WitnessTarget } from './target.ts'

/** Sends checkpoints to the witness. */
type Destination = WitnessLog & {
  /** Checkpoints of one call of `append`. */
  readonly most: number
}

const ROWS_AT_ONCE = 100
const TIMEOUT_MS = 15_000
const LARGEST_REPLY = 64 * 1024

/** The answer of a webhook was not 2xx, or there was none. */
class Refused extends Error {
  readonly code: string

  constructor(code: string) {
    super(`the witness did not accept a checkpoint: ${code}`)
    this.name = 'Refused'
    this.code = code
  }
}

export function openDestination(target: WitnessTarget, allowPrivate: boolean): Destination {
  if (target.kind === 'sqlite') return { ...openWitnessThread(target.path), most: ROWS_AT_ONCE }
  if (target.kind === 'postgres') return { ...openWitnessPostgres(target.url), most: ROWS_AT_ONCE }
  return openWebhook(target, allowPrivate)
}

/** One request a checkpoint. Its body is the line of checkpoints.log, so a receiver only has to append it to a file. */
function openWebhook(
  { url, token }: Extract<WitnessTarget, { kind: 'webhook' }>,
  allowPrivate: boolean,
): Destination {
  const limits = { timeoutMs: TIMEOUT_MS, largestReply: LARGEST_REPLY, longestRetryAfterMs: 0 }
  const { post, close } = openPost({ allowPrivate, ...limits })
  const headers = {
    'content-type': 'application/json',
    'user-agent': `Tabbat/${VERSION}`,
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
  }
  const send = async (checkpoint: Checkpoint, signal: AbortSignal) => {
    const { time, body, signature } = checkpoint
    const id = { 'idempotency-key': signature }
    const text = JSON.stringify({ time, body, signature })
    const { status } = await post({ url, headers: { ...headers, ...id }, body: text, signal })
    if (status < 200 || status > 299) throw new Refused(`status ${status}`)
  }
  return {
    most: 1,
    append: async (checkpoints, signal) => {
      try {
        for (const checkpoint of checkpoints) await send(checkpoint, signal)
      } catch (error) {
        throw error instanceof SourceError ? new Refused(error.problem ?? 'cut_off') : error
      }
    },
    close,
  }
}
