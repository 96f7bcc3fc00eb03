import type { Store } from '../../src/context/store.ts'
import { steadyNow } from '../../src/contract/time.ts'
import { type CommitParts, packParts, type Refusal } from '../../src/ledger/commit.ts'
import type { Guess } from '../../src/ledger/guess-table.ts'

type Ledger = Pick<Store, 'audit'>

/** Commits the parts of some verifications without audit rows. Resolves to the refusals, by position. */
export async function commitParts({ audit }: Ledger, parts: readonly CommitParts[], at = steadyNow()) {
  const { refused } = await audit.append({ rows: audit.packRows([]), parts: packParts(parts, at) })
  return refused
}

/** Counts a guess as a verification through a vendor does. */
export async function admitGuess({ audit }: Ledger, guess: Guess): Promise<'admitted' | Refusal> {
  const { id, subject, keyId, maxPeople, ...limits } = guess
  const checked = { id, subject: Buffer.from(subject).toString('hex'), keyId, maxPeople, isWrong: true }
  const packed = packParts([{ guess: { ...checked, attempt: { counted: false } } }], guess.at)
  const parts = packed && { ...packed, ...limits }
  const { refused } = await audit.append({ rows: audit.packRows([]), parts })
  return (refused[0]?.[1] as Refusal | undefined) ?? 'admitted'
}
