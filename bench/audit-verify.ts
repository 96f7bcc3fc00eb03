import { createSecretKey } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readArguments, toWhole } from '../build/tool-arguments.ts'
import { findCheckpointFile } from '../src/audit/checkpoint-file.ts'
import { toPublicKey } from '../src/audit/open-checkpoint.ts'
import { createSigner } from '../src/audit/signing.ts'
import { verifyStore } from '../src/audit/verify/verify-store.ts'
import { openStore } from '../src/context/store.ts'
import { fillAuditLog } from './audit-sample.ts'

const HELP = `npm run bench:audit -- [rows]

How fast tabbat audit verify is, and that it needs no more memory for more rows: 500000, or as many as you say.`

const [given = '500000'] = readArguments(HELP, {}, { positionals: 1 }).positionals
const ROWS = toWhole('The number of rows', given)

const signer = createSigner(createSecretKey(Buffer.alloc(32, 7)))
const publicKey = toPublicKey(signer.publicKey, 'The key')
const folder = mkdtempSync(join(tmpdir(), 'tabbat-bench-'))
const store = await openStore({ dataDir: folder, databaseUrl: process.env.TABBAT_DATABASE_URL })

try {
  await measure('writing', async () => {
    await fillAuditLog(store, { rows: ROWS, signer, folder })
    return { rows: ROWS }
  })
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
