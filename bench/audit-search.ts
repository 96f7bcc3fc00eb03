import { createSecretKey } from 'node:crypto'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readArguments, refuse, toWhole } from '../build/tool-arguments.ts'
import type { AuditFilter } from '../src/audit/audit-filter.ts'
import { writeExtract } from '../src/audit/extract/write-extract.ts'
import { searchAudit } from '../src/audit/search.ts'
import { searchTimelines } from '../src/audit/search-timelines.ts'
import { createSigner } from '../src/audit/signing.ts'
import { openStore, type Store } from '../src/context/store.ts'
import { fillAuditLog } from './audit-sample.ts'

const HELP = `node bench/audit-search.ts FOLDER [rows]

How long a page of a search of the audit log takes. Fills a log in the folder if it has none, with 1000000 rows or as many as you
say, and then searches it. With TABBAT_DATABASE_URL it is in PostgreSQL.`

const [folder = refuse('Name a folder.'), rows = '1000000'] = readArguments(
  HELP,
  {},
  { positionals: 2 },
).positionals
const ROWS = toWhole('The number of rows', rows)
const TURNS = 7
const EXTRACTED = 50_000

async function measure(what: string, work: () => Promise<unknown>): Promise<void> {
  const times: number[] = []
  for (let turn = 0; turn < TURNS; turn++) {
    const startedAt = performance.now()
    await work()
    times.push(performance.now() - startedAt)
  }
  const [first = 0] = times
  const median = times.toSorted((one, other) => one - other)[Math.floor(TURNS / 2)] ?? 0
  console.log(`${what}: first ${first.toFixed(0)} ms, median ${median.toFixed(0)} ms`)
}

async function measureSearches({ audit }: Store): Promise<void> {
  const searches: Readonly<Record<string, AuditFilter>> = {
    'newest page': {},
    'a key that all rows have': { key_ids: ['Ab12Cd34'] },
    'nothing fits, 20 000 rows are read': { key_ids: ['none'] },
    'a source that no row has, 20 000 rows are read': { source: 'none' },
  }
  for (const [what, filter] of Object.entries(searches)) {
    await measure(`verifications, ${what}`, () => searchTimelines(audit, filter))
    await measure(`rows, ${what}`, () => searchAudit(audit, filter))
  }
  const [chain = ''] = (await audit.chains()).map((each) => each.chain)
  const middle = await audit.find(chain, Math.floor(Number((await audit.head(chain))?.sequence) / 2))
  const to = middle?.time ?? ''
  await measure('verifications, a page in the middle of the log', () => searchTimelines(audit, { to }))
}

async function measureExtract(store: Store): Promise<void> {
  const deps = { store, missingArchives: 0, signer, isDemo: false, signNow: async () => {} }
  const options = { view: 'verifications', format: 'ndjson', filter: {}, shownFilter: {} } as const
  const startedAt = performance.now()
  let count = 0
  for await (const _piece of writeExtract(deps, { ...options, keyNames: new Map() })) {
    count += 1
    if (count === EXTRACTED) break
  }
  const seconds = (performance.now() - startedAt) / 1000
  console.log(`extract: ${Math.round(count / seconds)} proved rows a second`)
}

const signer = createSigner(createSecretKey(Buffer.alloc(32, 42)))
mkdirSync(folder, { recursive: true })
const store = await openStore({ dataDir: folder, databaseUrl: process.env.TABBAT_DATABASE_URL })
const filled = join(folder, 'filled')
if (!existsSync(filled)) {
  await fillAuditLog(store, { rows: ROWS, signer, folder })
  writeFileSync(filled, rows)
}
await measureSearches(store)
await measureExtract(store)
await store.close()
