import type { KeyObject } from 'node:crypto'
import { parentPort, workerData } from 'node:worker_threads'
import type { AuditFilter } from '../audit/audit-filter.ts'
import { type AuditStore, openAuditStore } from '../audit/audit-store.ts'
import type { ScanPosition } from '../audit/reverse-scan.ts'
import { SEARCH_LIMITS, searchAudit } from '../audit/search.ts'
import { readRowsToShow, searchTimelines } from '../audit/search-timelines.ts'
import type { DatabaseOptions } from '../database/open-database.ts'
import { UserError } from '../errors.ts'
import { requestTable } from '../requests/request-table.ts'
import {
  findRequestsOf,
  REQUEST_LIMITS,
  type RequestFilter,
  type RequestPosition,
  searchRequests,
  toInstant,
} from '../requests/search.ts'
import { readReferenceTime } from '../verification/verification-request.ts'
import { createArchiveReads, type RequestLog } from './archive-reads.ts'

/** What the thread is started with. */
export type SearchWorkerData = { readonly store: DatabaseOptions; readonly archiveDir: string | undefined }

type AuditSearchInput = {
  readonly filter: AuditFilter
  readonly before: ScanPosition | undefined
  readonly publicKey: KeyObject
}

type RequestSearchInput = {
  readonly filter: RequestFilter
  readonly before: RequestPosition | undefined
  /** Rows of a page. */
  readonly most?: number
}

type Reference = { readonly reference: string; readonly publicKey: KeyObject }

/** A search continues where it stopped. A timeline, and a search by an index, say what they left out. */
const LIMIT_MS = 5000

/** The searches that run in the thread. */
const createSearches = (store: AuditStore, archiveDir: string | undefined) => {
  const requests = requestTable.create(store.database)
  const archives = createArchiveReads(store, archiveDir)
  const withLog = async <T>(publicKey: KeyObject, work: (log: RequestLog) => Promise<T>) => {
    const log = await archives.open(publicKey, LIMIT_MS)
    try {
      return { found: await work(log), archives: log.count, note: log.toNote() }
    } finally {
      await log.close()
    }
  }
  const toLimits = ({ isOver }: RequestLog) => ({ ...SEARCH_LIMITS, isOver })
  return {
    verifications: ({ filter, before, publicKey }: AuditSearchInput) =>
      withLog(publicKey, (log) => searchTimelines(log.store.audit, filter, before, toLimits(log))),
    rows: ({ filter, before, publicKey }: AuditSearchInput) =>
      withLog(publicKey, (log) => searchAudit(log.store.audit, filter, before, toLimits(log))),
    timeline: ({ reference, publicKey }: Reference) =>
      withLog(publicKey, (log) => readRowsToShow(log.store.audit, reference)),
    requests: ({ filter, before, most = REQUEST_LIMITS.rows }: RequestSearchInput) =>
      searchRequests(requests, filter, before, { ...REQUEST_LIMITS, rows: most }),
    requestsOf: async ({ reference }: { reference: string }) => {
      // A request that was refused before anybody was looked up has no row, but a reference, which has its time.
      const period = (await store.audit.periodOf(reference)) ?? toInstant(readReferenceTime(reference))
      return findRequestsOf(requests, reference, period)
    },
  }
}

export type SearchFunctions = ReturnType<typeof createSearches>

type SearchQuestion = {
  readonly id: number
  readonly kind: keyof SearchFunctions
  readonly input: never
}

export type SearchAnswer =
  | { readonly id: number; readonly result: unknown }
  | { readonly id: number; readonly problem: string }
  | { readonly id: number; readonly failure: { readonly message: string } }

async function serve(): Promise<void> {
  const { store: options, archiveDir } = workerData as SearchWorkerData
  const searches = createSearches(await openAuditStore(options), archiveDir)
  const answer = async ({ id, kind, input }: SearchQuestion): Promise<SearchAnswer> => {
    try {
      return { id, result: await searches[kind](input) }
    } catch (error) {
      if (error instanceof UserError) return { id, problem: error.message }
      // Only the message of an error crosses a thread boundary, and not what it is classified by.
      const { message, code, errcode, severity } = error as Error & Record<string, unknown>
      const known = Object.entries({ code, errcode, severity }).filter(([, value]) => value !== undefined)
      return { id, failure: { message, ...Object.fromEntries(known) } }
    }
  }
  parentPort?.on('message', async (question: SearchQuestion) =>
    parentPort?.postMessage(await answer(question)),
  )
}

void serve()
