/**
 * Does a verification get slower as the registry grows? Two servers in one process, one with few records and one with many,
 * asked in turn; the figure is the ratio of their medians.
 *
 *   node bench/registry-growth.ts [few] [many] [rounds]
 */
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createApiServer } from '../src/app/api-server.ts'
import { loadConfig } from '../src/config/config.ts'
import { createContext } from '../src/context/context.ts'
import { requestLocally } from '../src/http/local-request.ts'
import { createKey } from '../src/keys/manage.ts'
import { sealEntry } from '../src/registry/sealed-entry.ts'
import { toNinRecord } from '../src/sources/sandbox/nin-record.ts'

const [few = 10_000, many = 2_000_000, rounds = 4000] = process.argv.slice(2).map(Number)
const CORE = '8031234567'
const BATCH = 10_000
const toNumber = (index: number) => String(40_000_000_000 + index)

async function open(records: number) {
  const dataDir = mkdtempSync(join(tmpdir(), 'tabbat-bench-'))
  const config = loadConfig(
    { TABBAT_DATA_DIR: dataDir, TABBAT_LOG_LEVEL: 'silent', TABBAT_RATE_LIMIT: 'off' },
    '',
  )
  const context = await createContext(config)
  const startedAt = performance.now()
  for (let from = 0; from < records; from += BATCH) {
    const batch = Array.from({ length: Math.min(BATCH, records - from) }, (_each, index) => {
      const number = toNumber(from + index)
      return sealEntry(context.keyring(), 'nin', number, { record: toNinRecord(number, CORE), mediaId: null })
    })
    await context.store.registry.save({ records: batch, media: [], at: 0 })
  }
  const seconds = (performance.now() - startedAt) / 1000
  const { text } = await createKey(
    { ...context, keyring: context.keyring() },
    {
      name: 'bench',
      mode: 'live',
      scopes: ['kyc:nin'],
      expiresAt: undefined,
      allowedIps: undefined,
      subjectsPerDay: 1e9,
    },
  )
  console.log(
    `${records} records made in ${seconds.toFixed(0)} s, ${(statSync(join(dataDir, 'tabbat.db')).size / 2 ** 20).toFixed(0)} MiB`,
  )
  return { context, app: createApiServer(context), records, key: text, dataDir, times: [] as number[] }
}

type Server = Awaited<ReturnType<typeof open>>

async function verify({ app, records, key, times }: Server, keep: boolean): Promise<void> {
  const payload = { nin: toNumber(Math.floor(Math.random() * records)), phone: `0${CORE}` }
  const startedAt = performance.now()
  const { status } = await requestLocally(app, {
    method: 'POST',
    path: '/api/v2/kyc/verify-nin',
    headers: { authorization: key },
    body: JSON.stringify(payload),
  })
  if (status !== 200) throw new Error(`answered ${status}`)
  if (keep) times.push((performance.now() - startedAt) * 1000)
}

const servers = [await open(few), await open(many)]
for (let round = 0; round < rounds; round++)
  for (const server of round % 2 === 0 ? servers : servers.toReversed())
    await verify(server, round > rounds / 10)
const medians = servers.map(({ times }) => times.toSorted((a, b) => a - b)[times.length >> 1] ?? 0)
for (const [index, { records }] of servers.entries())
  console.log(`${records} records: median ${medians[index]?.toFixed(0)} µs`)
console.log(`ratio ${((medians[1] ?? 0) / (medians[0] ?? 1)).toFixed(3)} (at most 1.2 is wanted)`)
for (const { app, context, dataDir } of servers) {
  await app.close()
  await context.close()
  rmSync(dataDir, { recursive: true })
}
