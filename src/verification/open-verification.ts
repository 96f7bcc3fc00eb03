import type { AuditLog } from '../audit/audit-log.ts'
import { loadNodeName } from '../audit/chain-claim.ts'
import type { Keyring } from '../crypto/keyring.ts'
import type { DatabaseSettings } from '../database/settings.ts'
import type { GuessTable } from '../ledger/guess-table.ts'
import type { IdempotencyTable } from '../ledger/idempotency-table.ts'
import type { LookupTable } from '../sources/lookup.ts'
import type { SourceSettings } from '../sources/settings.ts'
import { createGuessLimit } from './guess-limit.ts'
import { createIdempotency } from './idempotency.ts'
import { createLocalIdempotency } from './local-idempotency.ts'
import { createOpenGuesses } from './open-guesses.ts'
import type { LocalDeps } from './verification-deps.ts'

/** Guesses that this worker counted before it crashed are withdrawn. */
export async function openGuessLimit(
  { dataDir }: Pick<DatabaseSettings, 'dataDir'>,
  { guesses }: { readonly guesses: GuessTable },
  workerNumber: number,
) {
  const workerName = workerNumber === 1 ? '' : `.${workerNumber}`
  const guessLimit = createGuessLimit(guesses, loadNodeName(dataDir) + workerName)
  await guessLimit.recover()
  return guessLimit
}

export const openIdempotency = (
  { paidCalls }: Pick<SourceSettings, 'paidCalls'>,
  { idempotency: table }: { readonly idempotency: IdempotencyTable },
  keyring: Keyring,
  audit: AuditLog,
) => createIdempotency({ table, keyring, owner: audit.owner, paidCalls })

/** What verifications by sources inside the process use. */
export const openLocal = (
  { lookups }: { readonly lookups: LookupTable },
  keyring: Keyring,
  audit: AuditLog,
): LocalDeps => ({
  lookups,
  idempotency: createLocalIdempotency(keyring, audit.owner),
  guesses: createOpenGuesses(),
})
