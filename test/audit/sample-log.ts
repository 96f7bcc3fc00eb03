import { createSecretKey, type KeyObject } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Head } from '../../src/audit/audit-chains.ts'
import { makeCheckpoint } from '../../src/audit/checkpoint.ts'
import { CHECKPOINT_FILE } from '../../src/audit/checkpoint-folder.ts'
import { toPublicKey } from '../../src/audit/open-checkpoint.ts'
import { type AuditEntry, EMPTY_HEAD, linkEntries, toPolicyId } from '../../src/audit/row.ts'
import { createSigner, type Signer } from '../../src/audit/signing.ts'
import { openStore, type Store } from '../../src/context/store.ts'
import { createReference } from '../../src/verification/verification-request.ts'

/** A log of a few hundred rows in three chains. Its last checkpoint covers everything. */
export type SampleLog = {
  readonly store: Store
  readonly signer: Signer
  readonly publicKey: KeyObject
  readonly folder: string
  /** The checkpoints.log. */
  readonly file: string
  readonly references: readonly string[]
  readonly close: () => Promise<void>
}

export const CHAINS = ['a1b2c3d4-1', 'a1b2c3d4-2', 'ffee0011-1'] as const
/** How many verifications each chain gets between two checkpoints. Some get none. */
const ROUNDS = [
  [20, 9, 0],
  [1, 0, 0],
  [13, 7, 11],
  [0, 16, 2],
  [21, 4, 0],
] as const
export const RELEASED = 'nin_number,personal_info'

export async function createSampleLog(databaseUrl?: string): Promise<SampleLog> {
  const folder = mkdtempSync(join(tmpdir(), 'tabbat-audit-'))
  const store = await openStore({ dataDir: folder, databaseUrl })
  const signer = createSigner(createSecretKey(Buffer.alloc(32, 42)))
  const heads = new Map<string, Head>()
  const references: string[] = []
  await store.audit.insertPolicies([{ id: toPolicyId(RELEASED), fields: RELEASED }])
  for (const chain of CHAINS) await store.audit.claim(chain, null, 'test', Date.now())
  for (const round of ROUNDS) {
    for (const [index, chain] of CHAINS.entries()) {
      const entries = Array.from({ length: round[index] ?? 0 }, () => toEntries(references)).flat()
      const rows = linkEntries(chain, heads.get(chain) ?? EMPTY_HEAD, entries)
      await store.audit.append({ rows: store.audit.packRows(rows) })
      heads.set(chain, rows.at(-1) ?? heads.get(chain) ?? EMPTY_HEAD)
    }
    await makeCheckpoint(store.audit, signer, folder)
    // Each checkpoint needs a different time.
    for (const now = Date.now(); Date.now() === now; );
  }
  return {
    store,
    signer,
    publicKey: toPublicKey(signer.publicKey, 'The key'),
    folder,
    file: join(folder, CHECKPOINT_FILE),
    references,
    close: async () => {
      await store.close()
      rmSync(folder, { recursive: true })
    },
  }
}

export const readLines = (file: string) => readFileSync(file, 'utf8').trimEnd().split('\n')

function toEntries(references: string[]): AuditEntry[] {
  const reference = createReference()
  references.push(reference)
  const number = references.length
  const common = {
    request_reference: reference,
    key_id: `key${String(number % 5).padStart(5, '0')}`,
    mode: number % 3 === 0 ? 'test' : 'live',
    operation: number % 2 === 0 ? 'verify_nin' : 'verify_bvn',
    subject: number.toString(16).padStart(64, '0'),
    amount: number % 4 === 0 ? '50.00' : null,
    consent_reference: number % 7 === 0 ? `Adé ₦ ${number}` : null,
  }
  const sources = JSON.stringify([{ name: 'registry', result: 'found', ms: number }])
  const fields_released = RELEASED
  const started_at = number % 2 === 0 ? '2026-01-05T09:30:00.000Z' : null
  return [
    { ...common, phase: 'intent' },
    { ...common, phase: 'outcome', outcome: 'verified', sources, fields_released, started_at },
  ]
}
