import type { ClaimId } from '../store/idempotency-table.ts'
import { type Breaker, type BreakerState, createBreaker } from './breaker.ts'
import { createHealth, type HealthFigures } from './health.ts'
import type { SourceError } from './source.ts'

/** Why a source was not asked at all. `paid_calls`: the Idempotency-Key of the request has used up its paid calls. */
export type Skip = 'disabled' | 'breaker_open' | 'spend_cap' | 'paid_calls'

/** The right to ask once. It must be settled or released, whatever comes. Neither keeps anybody waiting. */
export type Pass = {
  /** The source was failing: this question finds out whether it is back. */
  readonly isProbe: boolean
  readonly settle: (failure: SourceError | undefined, ms: number) => void
  /** Nobody was asked after all, and nothing is paid for. */
  readonly release: () => void
}

/** Stands before one operation of an outside source and decides whether it may be asked now. */
export type Post = {
  readonly name: string
  readonly operation: string
  readonly admit: (paidCalls?: PaidCalls) => Promise<Pass | Skip>
  readonly read: () => PostFigures
}

export type PostFigures = HealthFigures & { readonly state: BreakerState | 'disabled' }

/** What all nodes must agree on; kept in the store. */
export type Agreement = {
  readonly isDisabled: (name: string) => boolean
  /** Counts the price of a call, and the call itself for the Idempotency-Key, if there is one. */
  readonly spend: (name: string, paidCalls?: PaidCalls) => Promise<Spending | 'spend_cap' | 'paid_calls'>
}

/** The paid calls of one Idempotency-Key. They are counted in the store before the call, for all nodes and after a crash. */
export type PaidCalls = {
  readonly claim: ClaimId
  readonly most: number
  /** So many were made, in this request and in those before it under the same key. */
  used: number
  /** Calls of this request that were not paid after all: being written. */
  readonly refunds: Promise<void>[]
}

/** Money that is counted as spent. Taking it back never fails: what cannot be written now is written later. */
export type Spending = { readonly refund: () => Promise<void> }

export function createPost(
  name: string,
  operation: string,
  agreement: Agreement,
  breaker: Breaker = createBreaker(),
): Post {
  const health = createHealth()
  const toPass = (admitted: 'usual' | 'probe', spending: Spending): Pass => ({
    isProbe: admitted === 'probe',
    settle: (failure, ms) => {
      const isTelling = failure === undefined || failure.fault === 'source'
      if (isTelling) breaker.settle(admitted, failure === undefined)
      else breaker.release(admitted)
      if (failure?.fault !== 'deadline') health.record(failure === undefined, ms)
      if (failure && !isPaid(failure)) void spending.refund()
    },
    release: () => {
      breaker.release(admitted)
      void spending.refund()
    },
  })
  return {
    name,
    operation,
    admit: async (paidCalls) => {
      if (agreement.isDisabled(name)) return 'disabled'
      const admitted = breaker.admit()
      if (admitted === undefined) return 'breaker_open'
      const spending = await agreement.spend(name, paidCalls).catch((error) => {
        breaker.release(admitted)
        throw error
      })
      if (typeof spending !== 'string') return toPass(admitted, spending)
      breaker.release(admitted)
      return spending
    },
    read: () => ({ ...health.read(), state: agreement.isDisabled(name) ? 'disabled' : breaker.state() }),
  }
}

/** What never arrived costs nothing, and neither does what was turned away at the door. */
export const isPaid = ({ sent, reason }: SourceError) =>
  sent && reason !== 'refused' && reason !== 'throttled'
