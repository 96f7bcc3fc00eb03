import { createHash } from 'node:crypto'
import { makeCheckpoint } from '../src/audit/checkpoint.ts'
import { type AuditEntry, EMPTY_HEAD, linkEntries, toPolicyId } from '../src/audit/row.ts'
import type { Signer } from '../src/audit/signing.ts'
import type { Store } from '../src/context/store.ts'
import { createReference } from '../src/verification/verification-request.ts'

type Sample = {
  readonly rows: number
  readonly signer: Signer
  /** Where checkpoints.log is written. */
  readonly folder: string
  readonly chains?: readonly string[]
}

const CHAINS = ['bench-1', 'bench-2']
const BATCH = 10_000
const RELEASED = 'nin_number,personal_info,residential_info,registration_date'
/** How many people the rows are about. */
const PEOPLE = 1_000_000

/** A keyed hash, as far as the log is concerned. */
const toSampleSubject = (person: number) => createHash('sha256').update(`person ${person}`).digest('hex')

/** Rows of live verifications, through the same code that the server writes with, and a checkpoint as often as there. */
export async function fillAuditLog({ audit }: Store, sample: Sample): Promise<void> {
  const { rows, signer, folder, chains = CHAINS } = sample
  const heads = chains.map(() => EMPTY_HEAD)
  await audit.insertPolicies([{ id: toPolicyId(RELEASED), fields: RELEASED }])
  for (const chain of chains) await audit.claim(chain, null, 'bench', Date.now())
  for (let done = 0, turn = 0; done < rows; done += BATCH, turn++) {
    const at = turn % chains.length
    const entries = Array.from({ length: Math.min(BATCH, rows - done) }, (_each, index) =>
      toEntry(done + index),
    )
    const linked = linkEntries(chains[at] ?? '', heads[at] ?? EMPTY_HEAD, entries)
    await audit.append({ rows: audit.packRows(linked) })
    heads[at] = linked.at(-1) ?? EMPTY_HEAD
    await makeCheckpoint(audit, signer, folder)
  }
}

function toEntry(index: number): AuditEntry {
  return {
    phase: 'outcome',
    request_reference: createReference(),
    key_id: 'Ab12Cd34',
    mode: 'live',
    operation: 'verify_nin',
    subject: toSampleSubject((index * 7919) % PEOPLE),
    outcome: 'verified',
    sources: '[{"name":"registry","result":"found","ms":2}]',
    consent_reference: 'shop/2026/000123',
    fields_released: RELEASED,
    started_at: new Date().toISOString(),
  }
}
