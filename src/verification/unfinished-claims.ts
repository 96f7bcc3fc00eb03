import type { AuditLog } from '../audit/audit-log.ts'
import type { AuditEntry } from '../audit/row.ts'
import { steadyNow } from '../contract/time.ts'
import { AppError } from '../errors.ts'
import type { ClaimId, Completion, IdempotencyTable } from '../ledger/idempotency-table.ts'

/** What could not be written about Idempotency-Keys because the store failed. It is written before the key is used again. */
type UnfinishedClaims = {
  /** Gives a claim up. If that fails, it is tried again before the key is used. */
  readonly release: (id: ClaimId, failure: string | null) => Promise<void>
  /** It is not known whether the claim was written. */
  readonly releaseLater: (id: ClaimId) => void
  /** Stores an answer as soon as the audit log can be written again: its caller, who got 503, then gets it with the same key. */
  readonly storeLater: (answer: LateAnswer) => void
  /** Before the key is used again. */
  readonly finishEarlier: (id: ClaimId) => Promise<void>
  /** Forgets what is to be released: those claims have ended with their leases. */
  readonly forgetReleases: () => void
  /** Tries to store all answers once more. */
  readonly close: () => Promise<void>
}

/** An answer whose commit failed, with the audit row of its outcome. Its claim is kept, so that no vendor is paid for it again. */
export type LateAnswer = { readonly completion: Completion; readonly entry: AuditEntry }

type UnfinishedDeps = {
  readonly table: Pick<IdempotencyTable, 'release' | 'isHeld'>
  readonly audit: Pick<AuditLog, 'record' | 'recordWith' | 'requireHealthy' | 'onceHealthy'>
  readonly erasure: { readonly eraseLate: (subject: Uint8Array) => Promise<unknown> }
}

const MAX_UNRELEASED = 10_000

export function createUnfinishedClaims(deps: UnfinishedDeps): UnfinishedClaims {
  const { table } = deps
  const unreleased = new Map<string, { readonly id: ClaimId; readonly failure: string | null }>()
  const keep = (id: ClaimId, failure: string | null): void => {
    unreleased.set(toText(id), { id, failure })
    // Callers choose the names, so the map is bounded. A claim that is dropped from it ends with its lease.
    const oldest = unreleased.keys().next().value
    if (unreleased.size > MAX_UNRELEASED && oldest !== undefined) unreleased.delete(oldest)
  }
  const release = async (id: ClaimId, failure: string | null): Promise<void> => {
    keep(id, failure)
    await table.release(id, failure)
    unreleased.delete(toText(id))
  }
  const answers = createLateAnswers(deps, (id) => keep(id, null))
  return {
    release,
    releaseLater: (id) => keep(id, null),
    storeLater: answers.keep,
    finishEarlier: async (id) => {
      await answers.store(id)
      const before = unreleased.get(toText(id))
      if (before) await release(before.id, before.failure)
    },
    forgetReleases: () => unreleased.clear(),
    close: answers.storeAll,
  }
}

/** Of all answers together. Portraits make them large. */
const MAX_BYTES = 64 * 1024 * 1024
/** An answer may itself be the reason why its commit fails. */
const MAX_TRIES = 5
/** They share a commit, so that all are stored before their leases end. After a failure they are stored one by one. */
const MAX_AT_ONCE = 64
/** By then `eraseLate` may no longer find that the person was erased, where only the answer tells the number. */
const MAX_UNNAMED_MS = 30_000

type Kept = LateAnswer & { readonly since: number; tries: number; storing: Promise<void> | undefined }

function createLateAnswers({ table, audit, erasure }: UnfinishedDeps, giveUp: (id: ClaimId) => void) {
  const answers = new Map<string, Kept>()
  let bytes = 0
  const remove = (kept: Kept) => {
    const { claim, sealed } = kept.completion
    if (answers.get(toText(claim)) !== kept) return
    answers.delete(toText(claim))
    bytes -= sealed.length
  }
  const drop = (kept: Kept) => {
    remove(kept)
    giveUp(kept.completion.claim)
  }
  const write = async (kept: Kept): Promise<void> => {
    const { completion, entry, since } = kept
    if (completion.subject && steadyNow() - since > MAX_UNNAMED_MS) {
      // Its commit may have been executed all the same.
      await erasure.eraseLate(completion.subject)
      return drop(kept)
    }
    // The commit that failed may still be executed. Once the last row of the chain is read, one of the two commits fails.
    await audit.record([])
    if (await table.isHeld(completion.claim)) {
      kept.tries += 1
      // Unless another request has taken the claim.
      await audit.recordWith({ completion }, [entry]).catch(throwUnlessInProgress)
    }
    // As in verify.ts.
    if (completion.subject) await erasure.eraseLate(completion.subject)
  }
  const store = (kept: Kept): Promise<void> => {
    kept.storing ??= write(kept)
      .then(
        () => remove(kept),
        (error) => {
          if (kept.tries >= MAX_TRIES) drop(kept)
          throw error
        },
      )
      .finally(() => {
        kept.storing = undefined
      })
    return kept.storing
  }
  let atOnce = MAX_AT_ONCE
  const storeAll = async (): Promise<void> => {
    try {
      while (answers.size > 0) await Promise.all([...answers.values().take(atOnce)].map(store))
      atOnce = MAX_AT_ONCE
    } catch {
      atOnce = 1
      audit.onceHealthy(storeAll)
    }
  }
  return {
    keep: (answer: LateAnswer): void => {
      const { claim, sealed } = answer.completion
      const earlier = answers.get(toText(claim))
      if (earlier) remove(earlier)
      answers.set(toText(claim), { ...answer, since: steadyNow(), tries: 0, storing: undefined })
      bytes += sealed.length
      for (const oldest of answers.values()) {
        if (bytes <= MAX_BYTES) break
        drop(oldest)
      }
      audit.onceHealthy(storeAll)
    },
    store: async (id: ClaimId): Promise<void> => {
      const kept = answers.get(toText(id))
      if (!kept) return
      audit.requireHealthy()
      await store(kept)
    },
    storeAll,
  }
}

function throwUnlessInProgress(error: unknown): void {
  if (!(error instanceof AppError && error.code === 'idempotency_in_progress')) throw error
}

const toText = ({ keyId, operation, name }: ClaimId) =>
  `${keyId} ${operation} ${Buffer.from(name).toString('base64')}`
