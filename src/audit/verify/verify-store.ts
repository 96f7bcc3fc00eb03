import { availableParallelism } from 'node:os'
import { openWorkerThread } from '../../assets/worker-thread.ts'
import type { OpenDatabase } from '../../database/open-database.ts'
import type { PageSource } from '../../database/page-source.ts'
import { withAuditSnapshot } from '../audit-snapshot.ts'
import type { CheckedStretch } from './stretch-check.ts'
import { type Verdict, type VerifyOptions, verifyAuditLog } from './verify-audit-log.ts'
import { type StretchChecker, verifyInThreads } from './verify-in-threads.ts'

type StoreVerifyOptions = VerifyOptions & {
  /** Threads for a long log. */
  readonly threads?: number
  /** With fewer rows, starting threads costs more than it saves. */
  readonly threadsFromRows?: number
}

const THREADS_FROM_ROWS = 50_000
const MAX_THREADS = 8

/** Verifies the log of a store. A long one is read by several threads; if it is not sound, one reads it again to say why. */
export function verifyStore(
  store: Pick<OpenDatabase, 'database' | 'databaseUrl' | 'file'>,
  options: StoreVerifyOptions,
): Promise<Verdict> {
  const { threadsFromRows = THREADS_FROM_ROWS, ...others } = options
  const threads = options.threads ?? Math.min(availableParallelism(), MAX_THREADS)
  return withAuditSnapshot(store, async (scan) => {
    if ((await scan.countRows()) < threadsFromRows) return verifyAuditLog(scan, others)
    const pool = openVerifyPool(await scan.pageSource(), threads)
    const verdict = await verifyInThreads(scan, pool, others).finally(pool.close)
    return verdict ?? verifyAuditLog(scan, others)
  })
}

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
    maxAtOnce: size * (1 + WAITING),
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
