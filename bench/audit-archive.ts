import { createSecretKey } from 'node:crypto'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readArguments, toWhole } from '../build/tool-arguments.ts'
import { archiveLog } from '../src/audit/archive/archive-log.ts'
import { openWholeLog } from '../src/audit/archive/whole-log.ts'
import { openAuditLog } from '../src/audit/audit-log.ts'
import { makeCheckpoint } from '../src/audit/checkpoint.ts'
import { toPublicKey } from '../src/audit/open-checkpoint.ts'
import { searchTimelines } from '../src/audit/search-timelines.ts'
import { createSigner } from '../src/audit/signing.ts'
import { verifyStore } from '../src/audit/verify/verify-store.ts'
import { openStore } from '../src/context/store.ts'
import { DAY_MS } from '../src/contract/time.ts'
import { readTableSizes } from '../src/database/table-sizes.ts'
import { fillAuditLog } from './audit-sample.ts'

const HELP = `npm run bench:archive -- [rows]

How long an archive of the audit log takes, step by step, and how large it is, for 1000000 rows or as many as you say. With
TABBAT_DATABASE_URL, on an empty PostgreSQL database.`

const [rows = '1000000'] = readArguments(HELP, {}, { positionals: 1 }).positionals
const ROWS = toWhole('The number of rows', rows)
const CHAINS = ['y2020m01-bench-1', 'y2020m01-bench-2']

const signer = createSigner(createSecretKey(Buffer.alloc(32, 7)))
const publicKey = toPublicKey(signer.publicKey, 'The key')
const folder = mkdtempSync(join(tmpdir(), 'tabbat-bench-'))
const path = join(folder, 'bench.audit.zst')
const store = await openStore({ dataDir: folder, databaseUrl: process.env.TABBAT_DATABASE_URL })
const stop = (error: unknown) => {
  throw error
}

try {
  if (store.database.dialect === 'postgres')
    await store.database.prepare("SELECT create_audit_month('y2020m01', 'y2020m02')").run()
  let at = performance.now()
  const lap = (name: string) => {
    const seconds = (performance.now() - at) / 1000
    console.log(`${name}: ${seconds.toFixed(2)} s, ${Math.round(ROWS / seconds)} rows/s`)
    at = performance.now()
  }
  await fillAuditLog(store, { rows: ROWS, signer, folder, chains: CHAINS })
  lap('filled')
  for (const chain of CHAINS) await store.audit.release(chain, 'bench', Date.now() - 30 * DAY_MS)
  await makeCheckpoint(store.audit, signer, folder)
  const [first] = await store.audit.page(CHAINS[1] ?? '', ROWS / 4, 1)
  const before = await readTableSizes(store.database, store.file)
  const failures = { onUnavailable: stop, onCheckpointFailure: stop, onCorruption: stop }
  const audit = await openAuditLog({
    table: store.audit,
    signer,
    dataDir: folder,
    checkpointDir: folder,
    ...failures,
  })
  at = performance.now()
  let last = ''
  await archiveLog(Date.UTC(2020, 1), path, {
    store,
    signer,
    audit,
    by: 'bench',
    onStep: (step) => {
      if (step !== last) lap(step)
      last = step
    },
  })
  const bytes = statSync(path).size
  console.log(`archive: ${bytes} bytes, ${(bytes / ROWS).toFixed(1)} bytes a row`)
  console.log(`database before: ${(before.total / ROWS).toFixed(1)} bytes a row`)
  at = performance.now()
  const { sound } = await verifyStore(store, { publicKey, archives: [path] })
  lap(sound ? 'verified' : 'NOT SOUND')
  const log = await openWholeLog(store, [path], { publicKey })
  lap('compared with its digest')
  const { byReference, bySubject, byConsent } = log.store.audit
  const searches = {
    reference: () => byReference(first?.request_reference ?? ''),
    person: () => bySubject(first?.subject ?? ''),
    consent: () => byConsent('no such consent'),
    time: async () => (await searchTimelines(log.store.audit, { to: first?.time ?? '' })).found,
  }
  for (const [name, search] of Object.entries(searches)) {
    at = performance.now()
    const { length } = await search()
    console.log(`search by ${name}: ${length} found, ${(performance.now() - at).toFixed(0)} ms`)
  }
  await log.close()
  console.log(`memory: at most ${Math.round(process.resourceUsage().maxRSS / 1024)} MB`)
  await audit.close()
} finally {
  await store.close()
  rmSync(folder, { recursive: true })
}
