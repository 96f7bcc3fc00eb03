import { createSecretKey, randomBytes } from 'node:crypto'
import { type AuditLog, openAuditLog } from '../../src/audit/audit-log.ts'
import { makeCheckpoint } from '../../src/audit/checkpoint.ts'
import { indexSubjects } from '../../src/audit/index-subjects.ts'
import { toPublicKey } from '../../src/audit/open-checkpoint.ts'
import type { RecentRows } from '../../src/audit/recent-rows.ts'
import { type AuditEntry, EMPTY_HEAD, linkEntries, toPolicyId } from '../../src/audit/row.ts'
import { createSigner, type Signer } from '../../src/audit/signing.ts'
import type { Store } from '../../src/context/store.ts'
import { DAY_MS } from '../../src/contract/time.ts'
import { endOf, monthOf, startOf, toMonth } from '../../src/ledger/audit-months.ts'
import { createReference } from '../../src/verification/verification-request.ts'

export const signer = createSigner(createSecretKey(Buffer.alloc(32, 42)))
export const publicKey = toPublicKey(signer.publicKey, 'The key')

/** Two old months, a chain from before chains had months, and the chain of a process that writes now. */
export const JANUARY = ['y2020m01-aaaa0001-1', 'y2020m01-bbbb0001-1'] as const
export const FEBRUARY = ['y2020m02-aaaa0001-1'] as const
export const FIRST = 'aaaa0001-1'
export const OLD_CHAINS = [FIRST, ...JANUARY, ...FEBRUARY]
export const RELEASED = 'nin_number,personal_info'

export type OldRow = { readonly chain: string; readonly reference: string; readonly subject: string }

const fail = (error: unknown) => {
  throw error
}

export const openLog = (store: Store, dataDir: string, recent?: RecentRows): Promise<AuditLog> =>
  openAuditLog({
    recent,
    table: store.audit,
    signer,
    dataDir,
    checkpointDir: dataDir,
    onUnavailable: fail,
    onCheckpointFailure: fail,
    onCorruption: fail,
  })

/**
 * Chains that nothing has used for long: closed, signed, and in blocks of subjects as far as a server would index them. `added` is
 * appended to the first chain of January.
 */
export async function writeOldLog(
  store: Store,
  folder: string,
  by: Signer = signer,
  added: readonly AuditEntry[] = [],
): Promise<OldRow[]> {
  const written: OldRow[] = []
  await store.audit.insertPolicies([{ id: toPolicyId(RELEASED), fields: RELEASED }])
  for (const chain of OLD_CHAINS) await claim(store, chain)
  for (const part of [0, 1, 2])
    for (const chain of OLD_CHAINS) {
      const rows = Array.from({ length: 10 }, (_row, index) => toRow(chain, part * 10 + index))
      written.push(...rows.map(({ row }) => row))
      await append(
        store,
        chain,
        rows.map(({ entry }) => entry),
      )
      await checkpoint(store, folder, by)
    }
  if (added.length > 0) {
    await append(store, JANUARY[0], added)
    await checkpoint(store, folder, by)
  }
  for (const chain of OLD_CHAINS) await store.audit.release(chain, 'old', Date.now() - 30 * DAY_MS)
  await checkpoint(store, folder, by)
  await indexSubjects(store.subjects, { blockRows: 10, leastRows: 1 })
  return written
}

async function claim(store: Store, chain: string): Promise<void> {
  const month = monthOf(chain)
  if (month && store.database.dialect === 'postgres')
    await store.database.prepare('SELECT create_audit_month($1, $2)').run(month, toMonth(endOf(month)))
  await store.audit.claim(chain, null, 'old', Date.now())
}

export async function append(store: Store, chain: string, entries: readonly AuditEntry[]): Promise<void> {
  const head = (await store.audit.head(chain)) ?? EMPTY_HEAD
  await store.audit.append({ rows: store.audit.packRows(linkEntries(chain, head, [...entries])) })
}

export async function checkpoint(store: Store, folder: string, by: Signer = signer): Promise<void> {
  // Each checkpoint needs a different time.
  for (const now = Date.now(); Date.now() === now; );
  await makeCheckpoint(store.audit, by, folder)
}

function toRow(chain: string, number: number): { readonly row: OldRow; readonly entry: AuditEntry } {
  const reference = createReference()
  const subject = randomBytes(32).toString('hex')
  const month = monthOf(chain)
  const time = new Date((month ? startOf(month) : Date.UTC(2019, 5)) + number * 1000).toISOString()
  const entry = {
    phase: 'outcome',
    time,
    request_reference: reference,
    subject,
    outcome: 'verified',
    key_id: 'Ab12Cd34',
    mode: 'live',
    operation: 'verify_nin',
    sources: JSON.stringify([{ name: 'registry', result: 'found', ms: number }]),
    consent_reference: number % 3 === 0 ? `Adé ₦ “${number}”` : null,
    fields_released: RELEASED,
  }
  return { row: { chain, reference, subject }, entry }
}
