const HELP = `npm run bench:registry -- [few] [many] [rounds]

Does a verification get slower as the registry grows? Two servers in one process, one with few records and one with many (10000
2000000 4000), asked in turn; the figure is the ratio of their medians.

tabbat import fills both. Each record takes about 1 kB in the file that is imported, and half of that in the database, in the
folder for temporary files.`

import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readArguments, toWhole } from '../build/tool-arguments.ts'
import { loadConfig } from '../src/context/config.ts'
import { requestLocally } from '../src/http/local-request.ts'
import { createApiServer } from '../src/server/api-server.ts'
import { createContext } from '../src/server/create-context.ts'
import { CURRENT } from './checkout.ts'
import { FIRST_NIN, toPhoneCore } from './load/request-spec.ts'
import { fillRegistry, openPeople, readKey, settle } from './registry.ts'

const [few = 10_000, many = 2_000_000, rounds = 4000] = readArguments(
  HELP,
  {},
  { positionals: 3 },
).positionals.map((text) => toWhole('Each figure', text))
const folder = mkdtempSync(join(tmpdir(), 'tabbat-bench-'))
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1))

async function open(records: number) {
  const dataDir = join(folder, String(records))
  const startedAt = performance.now()
  const people = await openPeople(folder, records)
  await fillRegistry(CURRENT, dataDir, people)
  rmSync(people)
  const seconds = (performance.now() - startedAt) / 1000
  const mib = statSync(join(dataDir, 'tabbat.db')).size / 2 ** 20
  console.log(`${records} records made in ${seconds.toFixed(0)} s, ${mib.toFixed(0)} MiB`)
  const settings = { TABBAT_DATA_DIR: dataDir, TABBAT_LOG_LEVEL: 'silent', TABBAT_RATE_LIMIT: 'off' }
  const context = await createContext(loadConfig(settings, ''))
  const times: number[] = []
  return { context, app: createApiServer(context), records, key: readKey(dataDir), times }
}

type Server = Awaited<ReturnType<typeof open>>

async function verify({ app, records, key, times }: Server, keep: boolean): Promise<void> {
  const index = Math.floor(Math.random() * records)
  const payload = { nin: String(FIRST_NIN + index), phone: `0${toPhoneCore(index)}` }
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
settle()
for (let round = 0; round < rounds; round++)
  for (const server of round % 2 === 0 ? servers : servers.toReversed())
    await verify(server, round > rounds / 10)
const medians = servers.map(({ times }) => times.toSorted((a, b) => a - b)[times.length >> 1] ?? 0)
for (const [index, { records }] of servers.entries())
  console.log(`${records} records: median ${medians[index]?.toFixed(0)} µs`)
console.log(`ratio ${((medians[1] ?? 0) / (medians[0] ?? 1)).toFixed(3)} (at most 1.15 is wanted)`)
for (const { app, context } of servers) {
  await app.close()
  await context.close()
}
