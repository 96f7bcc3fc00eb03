import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readArguments, refuse, toWhole } from '../build/tool-arguments.ts'
import { loadConfig } from '../src/context/config.ts'
import type { Context } from '../src/context/context.ts'
import { SANDBOX_KEY } from '../src/keys/sandbox-key.ts'
import { createApiServer } from '../src/server/api-server.ts'
import { createContext } from '../src/server/create-context.ts'
import { createReference } from '../src/verification/verification-request.ts'

const HELP = `npm run bench:pending -- [options]

How fast pending verifications are accepted with an empty queue and with a long one, in turns on two servers of one process.

  --pending N      how long the long one is (default 1000000)
  --rounds N       rounds, of which the median counts (5)
  --seconds N      for each server in a round (2)
  --connections N  callers (32)
  --database URL   on PostgreSQL: once for the empty queue and once for the long one`

const { values } = readArguments(HELP, {
  pending: { type: 'string', default: '1000000' },
  rounds: { type: 'string', default: '5' },
  seconds: { type: 'string', default: '2' },
  connections: { type: 'string', default: '32' },
  database: { type: 'string', multiple: true, default: [] },
})
const { database: databases, ...figures } = values
for (const [name, figure] of Object.entries(figures)) toWhole(`--${name}`, figure)
if (databases.length !== 0 && databases.length !== 2) refuse('--database must be given twice.')

const ROWS_AT_ONCE = 5000
const YEAR_MS = 365 * 86_400_000

type Place = {
  readonly name: string
  readonly context: Context
  readonly url: string
  readonly close: () => Promise<void>
}

const places = [await open('empty', values.database[0]), await open('full', values.database[1])] as const
try {
  const startedAt = performance.now()
  await fill(places[1].context, Number(values.pending))
  console.log(`filled with ${values.pending} in ${Math.round((performance.now() - startedAt) / 1000)} s`)
  const rates: Record<string, number[]> = { empty: [], full: [] }
  for (const place of places) await load(place)
  for (let round = 0; round < Number(values.rounds); round++)
    for (const place of round % 2 === 0 ? places : places.toReversed()) {
      const rate = await load(place)
      rates[place.name]?.push(rate)
      console.log(`${place.name}: ${Math.round(rate)} accepted/s`)
    }
  const [empty, full] = [median(rates.empty ?? []), median(rates.full ?? [])]
  console.log(
    `median: empty ${Math.round(empty)}/s, full ${Math.round(full)}/s, ratio ${(full / empty).toFixed(2)}`,
  )
} finally {
  for (const { close } of places) await close()
}

async function open(name: string, database: string | undefined): Promise<Place> {
  const dataDir = mkdtempSync(join(tmpdir(), 'tabbat-bench-pending-'))
  const settings = {
    TABBAT_DATA_DIR: dataDir,
    TABBAT_LOG_LEVEL: 'silent',
    TABBAT_RATE_LIMIT: 'off',
    TABBAT_PENDING_MAX: '100000000',
    TABBAT_PENDING_MAX_PER_KEY: '100000000',
    ...(database !== undefined && { TABBAT_DATABASE_URL: database }),
  }
  const context = await createContext(loadConfig(settings, ''))
  // Only accepting is measured: no attempt is made.
  context.lifecycle.stopping = true
  const app = createApiServer(context)
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  const close = async () => {
    await app.close()
    await context.close()
    rmSync(dataDir, { recursive: true })
  }
  return { name, context, url, close }
}

/** Questions of many keys, of which the load's own has most. */
async function fill({ store }: Context, count: number): Promise<void> {
  const limits = { perKey: Number.MAX_SAFE_INTEGER, all: Number.MAX_SAFE_INTEGER }
  for (let done = 0; done < count; done += ROWS_AT_ONCE) {
    const rows = Array.from({ length: Math.min(ROWS_AT_ONCE, count - done) }, (_, index) => ({
      ...{ reference: createReference(), keyId: 'sandbox0' },
      ...({ lane: 'single', mode: 'test', operation: 'verify_nin' } as const),
      lineage: index % 2 === 0 ? 'sandbox0' : `key${index % 200}`,
      ...{ subject: Buffer.alloc(32, index % 251), question: Buffer.alloc(300, 7) },
      ...{ delayMs: index % 900_000, lifeMs: YEAR_MS },
    }))
    await store.queue.enqueue(rows, limits, Date.now())
  }
}

/** Accepted verifications per second. */
async function load({ url }: Place): Promise<number> {
  const until = performance.now() + Number(values.seconds) * 1000
  const startedAt = performance.now()
  let accepted = 0
  const client = async () => {
    while (performance.now() < until) {
      const nin = String(10_000_000_000 + Math.floor(Math.random() * 80_000_000_000))
      const answer = await fetch(`${url}/api/v2/kyc/verify-nin`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${SANDBOX_KEY}`,
          'content-type': 'application/json',
          prefer: 'respond-async',
        },
        body: JSON.stringify({ nin, phone: '08031234567' }),
      })
      await answer.arrayBuffer()
      if (answer.status !== 202) throw new Error(`status ${answer.status}`)
      accepted += 1
    }
  }
  await Promise.all(Array.from({ length: Number(values.connections) }, client))
  return accepted / ((performance.now() - startedAt) / 1000)
}

function median(numbers: readonly number[]): number {
  return numbers.toSorted((one, other) => one - other)[Math.floor(numbers.length / 2)] ?? 0
}
