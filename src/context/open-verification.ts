import type { AuditLog } from '../audit/audit-log.ts'
import { loadNodeName } from '../audit/chain-claim.ts'
import type { Config } from '../config/config.ts'
import type { Keyring } from '../crypto/keyring.ts'
import type { Store } from '../store/store.ts'
import { createGuessLimit } from '../verification/guess-limit.ts'
import { createIdempotency } from '../verification/idempotency.ts'
import { createLocalIdempotency } from '../verification/local-idempotency.ts'
import { createOpenGuesses } from '../verification/open-guesses.ts'
import type { LocalDeps } from '../verification/verification-deps.ts'

/** Guesses that this worker counted before it crashed are withdrawn. */
export async function openGuessLimit({ dataDir }: Config, { guesses }: Store, workerNumber: number) {
  const workerName = workerNumber === 1 ? '' : `.${workerNumber}`
  const guessLimit = createGuessLimit(guesses, loadNodeName(dataDir) + workerName)
  await guessLimit.recover()
  return guessLimit
}

export const openIdempotency = (
  { paidCalls }: Config,
  { idempotency: table }: Store,
  keyring: Keyring,
  audit: AuditLog,
) => createIdempotency({ table, keyring, owner: audit.owner, paidCalls })

/** What verifications by sources inside the process use. */
export const openLocal = (store: Store, keyring: Keyring, audit: AuditLog): LocalDeps => ({
  lookups: store.lookups,
  idempotency: createLocalIdempotency(keyring, audit.owner),
  guesses: createOpenGuesses(),
})
