import { steadyNow } from '../../contract/time.ts'
import type { Caller } from '../../keys/caller.ts'
import type { StoredResponse } from '../idempotency.ts'
import type { QueueDeps } from './queue-deps.ts'
import { openAnswer } from './sealed-question.ts'

/** The answer, if the verification is answered before `until` (monotonic). */
export async function waitForAnswer(
  { table, keyring, signals }: QueueDeps,
  { lineage }: Pick<Caller, 'lineage'>,
  reference: string,
  until: number,
): Promise<StoredResponse | undefined> {
  for (;;) {
    const leftMs = until - performance.now()
    if (leftMs <= 0) return undefined
    const isStopping = await signals.waitForEnd(reference, leftMs)
    const found = await table.find(reference, lineage, steadyNow())
    if (found?.answer) return openAnswer(keyring, reference, found.answer)
    if (isStopping || found?.state !== 'pending') return undefined
  }
}
