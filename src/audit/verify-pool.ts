import { openWorkerThread } from '../assets/worker-thread.ts'
import type { PageSource } from '../database/page-source.ts'
import type { StretchChecker } from './verify-in-threads.ts'
import type { CheckedStretch } from './verify-segments.ts'

/** Stretches that wait in a thread while it checks another. */
const WAITING = 1

type Answer = ReturnType<typeof Promise.withResolvers<CheckedStretch | undefined>>

/** Threads that check stretches. */
export function openVerifyPool(
  source: PageSource,
  size: number,
): StretchChecker & { readonly close: () => Promise<void> } {
  const threads = Array.from({ length: size }, () => openThread(source))
  return {
    mostAtOnce: size * (1 + WAITING),
    check: (stretch) => {
      const idlest = threads.reduce((one, other) => (other.waiting() < one.waiting() ? other : one))
      return idlest.check(stretch)
    },
    close: async () => {
      await Promise.all(threads.map(({ close }) => close()))
    },
  }
}

function openThread(source: PageSource) {
  const worker = openWorkerThread('audit-verify', { workerData: source })
  // A thread answers in the order of the requests.
  const answers: Answer[] = []
  let ended: unknown
  const fail = (error: unknown) => {
    ended ??= error
    for (const { reject } of answers.splice(0)) reject(ended)
  }
  worker
    .on('message', (checked: CheckedStretch | null) => answers.shift()?.resolve(checked ?? undefined))
    .on('error', fail)
    .on('exit', () => fail(new Error('a thread of the verification ended')))
  const check: StretchChecker['check'] = (stretch) => {
    if (ended !== undefined) return Promise.reject(ended)
    const answer: Answer = Promise.withResolvers()
    answers.push(answer)
    worker.postMessage(stretch)
    return answer.promise
  }
  return { check, waiting: () => answers.length, close: () => worker.terminate() }
}
