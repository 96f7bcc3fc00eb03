import type { KeyObject } from 'node:crypto'
import { type CheckDigest, createDigestCheck } from '../audit/archive/read-archive.ts'
import { findArchivesOf, openWholeLog, toMissingText, type WholeLog } from '../audit/archive/whole-log.ts'
import type { AuditStore } from '../audit/audit-store.ts'
import { UserError } from '../errors.ts'

/** The log with the archives in TABBAT_AUDIT_ARCHIVE_DIR, for one request. */
export type RequestLog<S extends AuditStore = AuditStore> = WholeLog<S> & {
  readonly isOver: () => boolean
  /** What was not searched, and how to search it; null if nothing is left out. */
  readonly toNote: () => string | null
}

export type ArchiveReads<S extends AuditStore = AuditStore> = {
  /** Without a limit, for streams. */
  readonly open: (publicKey: KeyObject, limitMs?: number) => Promise<RequestLog<S>>
}

/** Each archive is compared with its digest once, then only after it was changed. */
export function createArchiveReads<S extends AuditStore>(
  store: S,
  archiveDir: string | undefined,
): ArchiveReads<S> {
  const check = createDigestCheck()
  return {
    open: async (publicKey, limitMs) => {
      const endsAt = performance.now() + (limitMs ?? Number.POSITIVE_INFINITY)
      const isOver = () => performance.now() > endsAt
      const log = await openWholeLog(store, findArchivesOf(archiveDir), {
        publicKey,
        check: limitMs === undefined ? check : withLimit(check, endsAt),
        isOver,
        skips: true,
      })
      return { ...log, isOver, toNote: () => toNote(log) }
    },
  }
}

/** The check goes on after the limit: a later request finds it done. */
const withLimit =
  (check: CheckDigest, endsAt: number): CheckDigest =>
  async (file, publicKey) => {
    const { promise, reject } = Promise.withResolvers<never>()
    const refuse = () =>
      reject(new UserError('An archive is being compared with its digest. Try again later.'))
    const timer = setTimeout(refuse, Math.max(endsAt - performance.now(), 1))
    try {
      return await Promise.race([check(file, publicKey), promise])
    } finally {
      clearTimeout(timer)
    }
  }

const COMMAND = 'tabbat audit export --archive FOLDER'

function toNote(log: WholeLog): string | null {
  const missing = toMissingText(log)
  const sentences = [
    ...(missing === undefined
      ? []
      : [`${missing} Put them into the folder of TABBAT_AUDIT_ARCHIVE_DIR, or run: ${COMMAND}`]),
    ...(log.archived.isCut()
      ? [
          `The archives of the audit log were not searched to the end: it takes too long here. Run: ${COMMAND}`,
        ]
      : []),
    ...new Set(log.problems),
  ]
  return sentences.length === 0 ? null : sentences.join(' ')
}
