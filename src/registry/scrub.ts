import { statSync } from 'node:fs'
import { openWorkerThread } from '../assets/worker-thread.ts'
import type { AuditTable } from '../audit/audit-table.ts'
import { hasCrashed, loadNodeName } from '../audit/chain-claim.ts'
import type { Keyring } from '../crypto/keyring.ts'
import { toFatal } from '../database/failure.ts'
import type { MetaTable } from '../database/meta-table.ts'
import type { DatabaseOptions, OpenDatabase } from '../database/open-database.ts'
import type { DatabaseSettings } from '../database/settings.ts'
import { UserError } from '../errors.ts'
import type { Log } from '../telemetry/log.ts'
import type { ScrubOptions } from './scrub-pass.ts'
import type { RegistrySettings } from './settings.ts'

export type ScrubOrder = ScrubOptions & { readonly store: DatabaseOptions }

type ScrubFailure = {
  readonly name: string
  readonly code: string
  readonly errcode: number
}
export type ScrubReport = { readonly pieces: number } | { readonly failure: ScrubFailure }

type ScrubSettings = Pick<DatabaseSettings, 'dataDir' | 'databaseUrl'> & Pick<RegistrySettings, 'scrub'>

type Scrub = {
  /** After a crash: checks a small database before the server answers, a large one at once in the background. */
  readonly afterCrash: () => Promise<void>
  readonly start: () => void
  readonly close: () => Promise<void>
}

const FIRST_AFTER_MS = 60_000
/** Measured with pauses and timers: 1.9 % of one processor. */
const DUTY = 0.01
const DUTY_AFTER_CRASH = 0.25
/** Checked in less than two seconds: 37 MB took one. */
const SMALL_BYTES = 64 * 1024 * 1024

/** Only the first worker searches for damage. After a crash it searches before the server is ready, if that takes little time. */
export async function openScrub(
  config: ScrubSettings,
  store: ScrubStore & { readonly audit: AuditTable },
  keyring: () => Keyring,
  log: Log,
  onFatal: (error: unknown) => void,
): Promise<Scrub> {
  const scrub = createScrub(config, store, keyring, log, onFatal)
  if (await hasCrashed(store.audit, loadNodeName(config.dataDir))) await scrub.afterCrash()
  scrub.start()
  return scrub
}

type ScrubStore = Pick<OpenDatabase, 'database' | 'place'> & { readonly meta: MetaTable }

/** Searches the database for damage in a thread, so that it is found before a request reads the damaged rows. */
function createScrub(
  { dataDir, databaseUrl, scrub: everyMs }: ScrubSettings,
  store: ScrubStore,
  keyring: () => Keyring,
  log: Log,
  onFatal: (error: unknown) => void,
): Scrub {
  const isSmall = store.database.dialect === 'sqlite' && sizeOf(store.place) < SMALL_BYTES
  let duty = DUTY
  let timer: NodeJS.Timeout | undefined
  let thread: ReturnType<typeof openWorkerThread> | undefined
  let closed = false

  const pass = (order: Pick<ScrubOptions, 'duty' | 'checkPages'>): Promise<void> => {
    const startedAt = performance.now()
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const workerData: ScrubOrder = { ...order, store: { dataDir, databaseUrl }, keys: listKeys(keyring()) }
    thread = openWorkerThread('scrub', { workerData })
      .once('message', (report: ScrubReport) => {
        if ('failure' in report) return reject(scrubError(report.failure))
        // For the metric. What cannot be written now is written after the next pass.
        store.meta.set({ last_scrub_at: new Date().toISOString() }).catch(() => {})
        const seconds = Math.round((performance.now() - startedAt) / 1000)
        log.event('info', 'scrub_finished', { pieces: report.pieces, seconds })
        resolve()
      })
      .once('error', reject)
      .once('exit', () => {
        thread = undefined
        reject(new Error('the thread ended'))
      })
    if (order.duty < 1) thread.unref()
    return promise
  }
  const passAgain = async () => {
    try {
      await pass({ duty, checkPages: isSmall })
      duty = DUTY
    } catch (error) {
      if (closed) return
      if (toFatal(error)) return onFatal(error)
      log.failure(error)
    }
    plan(everyMs)
  }
  const plan = (afterMs: number | 'off') => {
    if (afterMs !== 'off' && !closed) timer = setTimeout(() => void passAgain(), afterMs).unref()
  }
  return {
    afterCrash: async () => {
      if (everyMs === 'off') return
      if (!isSmall) {
        duty = DUTY_AFTER_CRASH
        return
      }
      await pass({ duty: 1, checkPages: true }).catch((error) => {
        if (toFatal(error))
          throw new UserError(`${store.place} is damaged. Restore a backup or move the file away.`)
        log.failure(error)
      })
    },
    start: () => {
      const firstMs = duty === DUTY ? FIRST_AFTER_MS : 0
      plan(everyMs === 'off' ? 'off' : Math.min(everyMs, firstMs))
    },
    close: async () => {
      closed = true
      clearTimeout(timer)
      await thread?.terminate()
    },
  }
}

const scrubError = ({ name, ...codes }: ScrubFailure) =>
  Object.assign(new Error('the scrub met a failure'), { ...codes, name })

function listKeys({ version, sealing }: Keyring): ScrubOptions['keys'] {
  const keys = [version - 1, version].map((each) => [each, sealing(each)] as const)
  return new Map(keys.flatMap(([each, key]) => (key ? [[each, key]] : [])))
}

const sizeOf = (path: string) =>
  ['', '-wal'].reduce((sum, end) => sum + (statSync(path + end, { throwIfNoEntry: false })?.size ?? 0), 0)
