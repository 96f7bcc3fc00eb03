import { createSecretKey } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeCheckpoint } from '../src/audit/checkpoint.ts'
import { findCheckpointFile } from '../src/audit/checkpoint-file.ts'
import { toPublicKey } from '../src/audit/open-checkpoint.ts'
import { toPolicyId } from '../src/audit/released-fields.ts'
import { type AuditEntry, EMPTY_HEAD, linkEntries } from '../src/audit/row.ts'
import { createSigner } from '../src/audit/signing.ts'
import { verifyStore } from '../src/audit/verify-store.ts'
import { packRows } from '../src/store/append-audit.ts'
import { openStore, type Store } from '../src/store/store.ts'
import { createReference } from '../src/verification/reference.ts'

/** How fast `tabbat audit verify` is, and that it needs no more memory for more rows. */
const ROWS = Number(process.argv[2] ?? 500_000)
const CHAINS = ['bench-1', 'bench-2']
const BATCH = 10_000
const RELEASED = 'nin_number,personal_info,residential_info,registration_date'

const signer = createSigner(createSecretKey(Buffer.alloc(32, 7)))
const publicKey = toPublicKey(signer.publicKey, 'The key')
const folder = mkdtempSync(join(tmpdir(), 'tabbat-bench-'))
const store = await openStore({ dataDir: folder, databaseUrl: process.env.TABBAT_DATABASE_URL })

try {
  await measure('writing', () => fill(store))
  const before = process.memoryUsage.rss()
  let peak = 0
  const onProgress = () => {
    peak = Math.max(peak, process.memoryUsage.rss())
  }
  const verifyWith = (path?: string) => {
    const file = path === undefined ? undefined : findCheckpointFile(path)
    return verifyStore(store, { publicKey, file, onProgress })
  }
  await measure('verify', () => verifyWith())
  await measure('verify with checkpoints.log', () => verifyWith(join(folder, 'checkpoints.log')))
  console.log(`memory: ${toMegabytes(before)} MB before, at most ${toMegabytes(peak)} MB while verifying`)
} finally {
  await store.close()
  rmSync(folder, { recursive: true })
}

/** Through the same code that the server writes with, and a checkpoint as often as there. */
async function fill({ audit }: Store): Promise<{ rows: number }> {
  const heads = CHAINS.map(() => EMPTY_HEAD)
  await audit.insertPolicies([{ id: toPolicyId(RELEASED), fields: RELEASED }])
  for (const chain of CHAINS) await audit.claim(chain, null, 'bench', Date.now())
  for (let done = 0, turn = 0; done < ROWS; done += BATCH, turn++) {
    const at = turn % CHAINS.length
    const rows = linkEntries(
      CHAINS[at] ?? '',
      heads[at] ?? EMPTY_HEAD,
      toEntries(Math.min(BATCH, ROWS - done)),
    )
    await audit.append(packRows(rows), [])
    heads[at] = rows.at(-1) ?? EMPTY_HEAD
    await makeCheckpoint(audit, signer, folder)
  }
  return { rows: ROWS }
}

function toEntries(count: number): AuditEntry[] {
  return Array.from({ length: Math.ceil(count / 2) }, () => createReference())
    .flatMap((reference) => [toEntry(reference, false), toEntry(reference, true)])
    .slice(0, count)
}

function toEntry(reference: string, ended: boolean): AuditEntry {
  const story = {
    request_reference: reference,
    key_id: 'Ab12Cd34',
    mode: 'live',
    operation: 'verify_nin',
    subject: 'ab'.repeat(32),
    consent_reference: 'shop/2026/000123',
  }
  if (!ended) return { ...story, phase: 'intent' }
  const sources = '[{"name":"registry","result":"found","ms":2}]'
  const fields_released = RELEASED
  return { ...story, phase: 'outcome', outcome: 'verified', sources, fields_released }
}

async function measure(name: string, work: () => Promise<{ rows: number; sound?: boolean }>): Promise<void> {
  const startedAt = performance.now()
  const cpu = process.cpuUsage()
  const { rows, sound = true } = await work()
  const seconds = (performance.now() - startedAt) / 1000
  const { user, system } = process.cpuUsage(cpu)
  const perCpu = Math.round(rows / ((user + system) / 1e6))
  const rate = Math.round(rows / seconds)
  console.log(
    `${name}: ${rows} rows in ${seconds.toFixed(2)} s, ${rate} rows/s (${perCpu} per second of processor)${sound ? '' : ' NOT SOUND'}`,
  )
}

function toMegabytes(bytes: number): number {
  return Math.round(bytes / 1e6)
}
