import type { Reply } from './cluster.ts'
import { isKnown, phoneOf } from './people.ts'

/** A verification that a caller wants. Each has a number of its own, unless it guesses. */
export type Wish = {
  readonly id: number
  /** Name of the API key. */
  readonly caller: string
  readonly number: string
  readonly phone: string
  readonly idempotencyKey: string | undefined
  readonly isAsync: boolean
  readonly isGuess: boolean
}

/** What a caller saw of one request. */
export type Attempt = {
  readonly wish: Wish
  readonly askedAt: number
  readonly at: number
  readonly status: number
  readonly code: string | undefined
  readonly reference: string | undefined
  readonly body: string
  readonly isReplay: boolean
  /** Read later, at the address of a pending verification. */
  readonly isRead: boolean
}

export type BatchFacts = {
  readonly id: string
  readonly caller: string
  readonly wishes: readonly Wish[]
  /** The results at the end, as the API gave them. */
  results: readonly { readonly line: number; readonly state: string; readonly status?: number }[]
  /** When rows that had not ended were last asked for. */
  openAt?: number | undefined
  isCancelled: boolean
}

/** Everything that callers know, from outside. */
export type Book = {
  readonly wishes: Wish[]
  readonly attempts: Attempt[]
  /** Connections that broke before an answer. */
  resets: number
  /** Accepted pending questions, by reference. */
  readonly pending: Map<string, { readonly wish: Wish; state: 'open' | 'ended' | 'cancelled' | 'gone' }>
  readonly batches: BatchFacts[]
  /** Each time a batch was sent, and when that ended: it may be stored although its caller was never told. */
  readonly uploads: { readonly wishes: readonly Wish[]; readonly endedAt: number }[]
  /** Keys that were revoked, and when it was confirmed; infinite while that is not known. */
  readonly revoked: Map<string, number>
  /** By id, when that was confirmed. A key that was rolled before has another id, and stays valid. */
  readonly revokedIds: Map<string, number>
  /** Numbers that were erased, and when it was confirmed; infinite while that is not known. */
  readonly erased: Map<string, number>
  /** When each of these erasures began. */
  readonly erasing: Map<string, number>
}

export const createBook = (): Book => ({
  wishes: [],
  attempts: [],
  resets: 0,
  pending: new Map(),
  batches: [],
  uploads: [],
  revoked: new Map(),
  revokedIds: new Map(),
  erased: new Map(),
  erasing: new Map(),
})

export function toAttempt(wish: Wish, reply: Reply, isRead = false): Attempt {
  const { status, body, headers, at, askedAt = at } = reply
  const read = JSON.parse(body || '{}') as { code?: string; data?: { request_reference?: string } }
  return {
    wish,
    askedAt,
    at,
    status,
    code: read.code,
    reference: read.data?.request_reference,
    body,
    isReplay: headers['idempotent-replayed'] === 'true',
    isRead,
  }
}

/** Verified, or not verified: nothing else says something about a person. */
export const isAnswer = ({ status, code, reference }: Pick<Attempt, 'status' | 'code' | 'reference'>) =>
  reference !== undefined && (status === 200 || (status === 422 && code === 'not_verified'))

/** A row of a batch that has not ended. */
export const isOpenRow = ({ state }: { readonly state: string }) => ['waiting', 'running'].includes(state)

export const isRight = ({ number, phone }: Wish) => isKnown(number) && phone === phoneOf(number)
