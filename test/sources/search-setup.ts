import { AppError } from '../../src/errors.ts'
import type { Search, SourceQuery } from '../../src/sources/failover.ts'
import type { CallGuard, Permit, SkipReason } from '../../src/sources/guard/call-guard.ts'
import type { CallOutcome } from '../../src/sources/guard/call-record.ts'
import { type Answer, SourceError, type SourceFailure } from '../../src/sources/source.ts'

export type Person = { readonly phone: string }
export const PERSON: Answer<Person> = { found: true, record: { phone: '1' } }
export const NOT_FOUND: Answer<Person> = { found: false }

export const createSearch = (options: Partial<Search<Person>> = {}): Search<Person> => ({
  sourceAttempts: [],
  signal: AbortSignal.timeout(60_000),
  begin: async () => {},
  pay: async () => ({ refund: () => {} }),
  lineage: 'key',
  ...options,
})

export type Settled = (CallOutcome | 'released')[]
type GuardOptions = {
  readonly admit?: Permit | SkipReason | Promise<Permit | SkipReason>
  readonly settled?: Settled
}

/** A permit for a call that is slow at once, or never. */
export const createPermit = (isSlow: boolean, settled: Settled = []): Permit => ({
  hedgeAfterMs: () => (isSlow ? 0 : 60_000),
  recordHang: () => {},
  settle: (outcome) => void settled.push(outcome),
  release: () => void settled.push('released'),
})

export const createGuard = (name: string, { admit, settled }: GuardOptions = {}): CallGuard => ({
  name,
  operation: 'verify_nin',
  admit: async () => admit ?? createPermit(false, settled),
  read: () => {
    throw new Error('not needed')
  },
  isAvailable: () => true,
  retryAfterMs: () => 0,
  failures: () => new Map(),
})

export const answering = (
  name: string,
  answer: Answer<Person>,
  options?: GuardOptions,
): SourceQuery<Person> => ({
  name,
  guard: createGuard(name, options),
  query: async () => answer,
})

export const failing = (
  name: string,
  reason: SourceFailure,
  sent = true,
): SourceQuery<Person> & { calls: number } => {
  const failed = {
    name,
    guard: createGuard(name),
    calls: 0,
    query: async () => {
      failed.calls += 1
      throw new SourceError(name, reason, { sent })
    },
  }
  return failed
}

export const listAttempts = ({ sourceAttempts }: Search<Person>) =>
  sourceAttempts.map(({ name, result }) => `${name} ${result}`)
export const readCode = (work: Promise<unknown>) =>
  work.then(
    () => undefined,
    (error: unknown) => (error instanceof AppError ? error.code : error),
  )
