import { randomUUID } from 'node:crypto'
import type { AuditEntry } from '../audit/row.ts'
import { DAY_MS, steadyNow } from '../contract/time.ts'
import { toTextMac } from '../crypto/mac.ts'
import { AppError } from '../errors.ts'
import type { CommitParts, Refusal, SettledGuess, Spending } from '../ledger/commit.ts'
import type { GuessRefusal } from '../ledger/guess-rule.ts'
import type { PaidCall } from '../ledger/paid-calls.ts'
import type { QueueChange, QueueRefusal } from '../ledger/queue-rows.ts'
import { NotBegun } from '../sources/failover.ts'
import type { Pay } from '../sources/guard/call-guard.ts'
import { toMonth } from '../sources/guard/shared-state.ts'
import type { SpendLeases } from '../sources/spend-leases.ts'
import { endAfter } from '../telemetry/tracing.ts'
import { type GuessEnd, limitError, type OpenGuess } from './guess-limit.ts'
import type { IdType } from './id-type.ts'
import type { IdempotencyClaim, StoredResponse } from './idempotency.ts'
import { toIntent, type Verification } from './verification.ts'

/** How long a paid call counts against its Idempotency-Key. */
const PAID_CALLS_MS = DAY_MS

/**
 * The commits of a verification that may ask sources outside this process, two in all. *Begin* writes the Idempotency-Key, the guess,
 * the intent, and the price of the first call: durable before the call, all or nothing. *End* writes the outcome and what follows from
 * it. A further paid call needs one more commit, with its price. They run one after another.
 */
export class Commits {
  readonly #verification: Committed
  readonly #held: Held
  #hasBegun = false
  /** The end is waited for: no further call is paid for. */
  #isEnding = false
  #isOver = false
  #hasLeft = false
  /** The end of the guess, until it is written. */
  #settled: SettledGuess | undefined
  /** Prices that must be given back, of calls that were not billed. */
  #refunds: readonly Spending[] = []
  #last: Promise<unknown> = Promise.resolve()

  constructor(verification: Committed, held: Held) {
    this.#verification = verification
    this.#held = held
  }

  /** Begins, unless it has begun. Throws `NotBegun` if it must not: a limit, or an Idempotency-Key that was used before. */
  readonly begin = (): Promise<void> => this.#inTurn(() => this.#beginOnce())

  /** Looks for the response first, where the Idempotency-Key was probably used before. Throws as `begin` does. */
  recall(): Promise<void> {
    return this.#inTurn(() =>
      this.#takeClaim().catch((error) => {
        throw new NotBegun(error)
      }),
    )
  }

  /** Pays for a call. The first one is part of the begin. */
  readonly pay: Pay = (name) => this.#inTurn(() => this.#pay(name))

  /** Begins before, if no source was asked. Resolves to the reason if the change of the queue was refused: then nothing is written. */
  end(ending: Ending): Promise<QueueRefusal | undefined> {
    this.#isEnding = true
    return this.#inTurn(async () => {
      await this.#beginOnce()
      return this.#end(ending)
    })
  }

  /** Gives back what is still held: after a refusal or a failure. */
  abandon(error: unknown): Promise<void> {
    this.#isEnding = true
    return this.#inTurn(() => this.#abandon(error))
  }

  #inTurn<R>(work: () => Promise<R>): Promise<R> {
    const done = this.#last.then(work, work)
    this.#last = done
    done.catch(() => {})
    return done
  }

  async #beginOnce(): Promise<void> {
    if (!this.#hasBegun) await this.#begin(undefined)
  }

  /** With the price of a call, or without. Throws `NotBegun` for whatever prevents it. */
  async #begin(spending: Spending | undefined): Promise<'money_lost' | 'paid_calls' | undefined> {
    const { guessLimit, leases } = this.#verification.deps
    try {
      await guessLimit.catchUp()
      for (;;) {
        const refusal = await this.#tryBegin(spending)
        if (refusal === undefined || refusal === 'money_lost' || refusal === 'paid_calls') return refusal
        if (refusal !== 'claimed') throw limitError(refusal as GuessRefusal)
        await this.#takeClaim()
      }
    } catch (error) {
      if (spending) leases.putBack(spending)
      throw new NotBegun(error)
    }
  }

  async #tryBegin(spending: Spending | undefined): Promise<Refusal | undefined> {
    const { deps, request } = this.#verification
    const { claim, guess } = this.#held
    const isNewClaim = claim !== undefined && !claim.isHeld
    const parts: CommitParts = {
      guess: guess && deps.guessLimit.toReserved(request.caller, guess),
      claim: isNewClaim ? deps.idempotency.toNewClaim(claim, spending ? 1 : 0) : undefined,
      payment: spending && !isNewClaim ? this.#toPayment() : undefined,
      spending: spending && [spending],
    }
    const recorded = deps.audit.recordWith(parts, [toIntent(this.#verification)])
    const refusal = await endAfter(request.trace?.startStep('commit_intent'), recorded).catch((error) => {
      // It is not known what was written.
      if (isNewClaim) deps.idempotency.releaseLater(claim)
      if (guess && !guess.counted) deps.guessLimit.withdrawLater(guess)
      if (spending) deps.leases.lose(spending)
      throw error
    })
    if (refusal) return refusal
    this.#hasBegun = true
    if (claim) claim.isHeld = true
    return undefined
  }

  /** The Idempotency-Key was used before. Throws if it has a response or is in use; else it is ours now. */
  async #takeClaim(): Promise<void> {
    const { deps, request } = this.#verification
    const { claim } = this.#held
    if (!claim) return
    const stored = await endAfter(request.trace?.startStep('idempotency'), deps.idempotency.find(claim))
    if (stored) throw new AlreadyAnswered(stored)
  }

  #toPayment(): PaidCall | undefined {
    const { budget } = this.#verification
    const expiresAt = steadyNow() + PAID_CALLS_MS
    return budget && { payer: budget.payer, most: budget.most, expiresAt, refunded: this.#refunds.length }
  }

  async #pay(name: string): Promise<Awaited<ReturnType<Pay>>> {
    const { deps, request } = this.#verification
    for (;;) {
      // The deadline has passed meanwhile.
      if (this.#isEnding) throw new AppError('source_timeout')
      const money = await deps.leases.take(name, this.#verification.idType.kind)
      if (money === 'spend_cap') return money
      const key = { id: request.caller.keyId, month: toMonth(steadyNow()) }
      const spending: Spending = { ...money, calls: 1, key }
      const refusal = await (this.#hasBegun ? this.#payMore(spending) : this.#begin(spending))
      if (refusal === undefined) return this.#toSpent(spending)
      if (refusal === 'money_lost') deps.leases.lose(money)
      else {
        deps.leases.putBack(money)
        return 'paid_calls'
      }
    }
  }

  /** The price of a further call, and what is to be given back until then. */
  async #payMore(spending: Spending): Promise<Refusal | undefined> {
    const { deps, request } = this.#verification
    const refunds = this.#refunds
    const parts = { payment: this.#toPayment(), spending: [spending, ...refunds] }
    let recorded: Promise<Refusal | undefined>
    try {
      recorded = deps.audit.recordWith(parts, [])
    } catch (error) {
      // Nothing was written.
      deps.leases.putBack(spending)
      throw error
    }
    const refusal = await endAfter(request.trace?.startStep('commit_payment'), recorded).catch((error) => {
      this.#doubt([spending, ...refunds])
      throw error
    })
    if (!refusal) this.#putBack(refunds)
    return refusal
  }

  #toSpent(spending: Spending): { readonly refund: () => void } {
    const { deps, budget } = this.#verification
    if (budget) budget.used += 1
    return {
      refund: () => {
        if (budget) budget.used -= 1
        if (this.#isOver) void this.#refundLate(spending, deps.leases)
        else this.#refunds = [...this.#refunds, { ...spending, calls: -1 }]
      },
    }
  }

  #refundLate(spending: Spending, { refundLate }: Pick<SpendLeases, 'refundLate'>): Promise<void> {
    return refundLate({ ...spending, id: randomUUID(), payer: this.#verification.budget?.payer })
  }

  /** They are written. */
  #putBack(refunds: readonly Spending[]): void {
    this.#refunds = this.#refunds.slice(refunds.length)
    for (const each of refunds) this.#verification.deps.leases.putBack(each)
  }

  /** It is not known whether they are written: what would be given back stays counted. */
  #doubt(spending: readonly Spending[]): void {
    this.#refunds = this.#refunds.filter((each) => !spending.includes(each))
    for (const each of spending) this.#verification.deps.leases.lose(each)
  }

  #leave(end: GuessEnd): void {
    const { guess } = this.#held
    if (!guess || this.#hasLeft) return
    const { guessLimit, subjectKey } = this.#verification.deps
    const unanswered = end === 'unanswered' ? toTextMac(subjectKey, `guess|${guess.name}`) : undefined
    this.#settled = guessLimit.leave(guess, end === 'failed', unanswered)
    this.#hasLeft = true
  }

  async #end({ entry, guess, toParts, toChange }: Ending): Promise<QueueRefusal | undefined> {
    const { deps, request, budget } = this.#verification
    this.#isOver = true
    this.#leave(guess)
    const refunds = this.#refunds
    const refunded = budget ? refunds.length : 0
    const spending = refunds.length > 0 ? refunds : undefined
    const parts: CommitParts = { ...toParts?.(refunded), settled: this.#settled, spending }
    let recorded: Promise<Refusal | QueueRefusal | undefined>
    try {
      recorded = toChange
        ? deps.audit.recordChange(toChange(refunded), [entry], parts)
        : deps.audit.recordWith(parts, [entry])
    } catch (error) {
      // Nothing was written.
      this.#storeLater(parts, entry, error)
      throw error
    }
    const refusal = await endAfter(request.trace?.startStep('commit'), recorded).catch((error) => {
      this.#doubt(refunds)
      this.#storeLater(parts, entry, error)
      throw error
    })
    if (refusal) {
      this.#isOver = false
      return refusal as QueueRefusal
    }
    this.#putBack(refunds)
    this.#settled = undefined
    if (guess === 'unanswered') deps.guessLimit.keepUnanswered()
    if (this.#held.claim) this.#held.claim.isHeld = false
    return undefined
  }

  /** The store failed. The claim stays, so that the next request with its key gets the answer that was paid for. */
  #storeLater({ completion }: CommitParts, entry: AuditEntry, error: unknown): void {
    const { claim } = this.#held
    if (!claim || !completion || !(error instanceof AppError && error.code === 'audit_unavailable')) return
    this.#verification.deps.idempotency.storeLater({ completion, entry })
    claim.isHeld = false
  }

  async #abandon(error: unknown): Promise<void> {
    const { idempotency, guessLimit, leases } = this.#verification.deps
    this.#isOver = true
    this.#leave('withdrawn')
    const refunds = this.#refunds
    this.#refunds = []
    for (const each of refunds) await this.#refundLate(each, leases)
    const { claim } = this.#held
    if (claim?.isHeld) await idempotency.release(claim, error).catch(() => {})
    if (this.#settled) await guessLimit.settle(this.#settled)
    this.#settled = undefined
  }
}

type Committed = Pick<Verification<unknown>, 'deps' | 'request' | 'budget' | 'auditFields' | 'startedAt'> & {
  readonly idType: Pick<IdType<unknown>, 'kind'>
}

type Ending = {
  readonly entry: AuditEntry
  readonly guess: GuessEnd
  /** `refunded`: paid calls of this verification that were not billed. */
  readonly toParts?: (refunded: number) => CommitParts
  readonly toChange?: (refunded: number) => QueueChange
}

/** What the verification holds in memory, and in the store once it has begun. */
type Held = {
  /** Of the Idempotency-Key. */
  readonly claim?: IdempotencyClaim | undefined
  readonly guess: OpenGuess | undefined
}

/** A response is stored under the Idempotency-Key. */
export class AlreadyAnswered extends Error {
  readonly stored: StoredResponse

  constructor(stored: StoredResponse) {
    super('a response is stored under the Idempotency-Key')
    this.stored = stored
  }
}
