import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readArguments, toChoices, toWhole } from '../build/tool-arguments.ts'
import { openStore } from '../src/context/store.ts'
import { createRequestLog } from '../src/requests/request-log.ts'
import { searchRequests } from '../src/requests/search.ts'
import { createReference } from '../src/verification/verification-request.ts'
import { cores, move } from './cores.ts'
import { type Figure, runRounds, type Variant } from './rounds.ts'
import type { Server } from './servers/server.ts'
import { LOOKUPS, startTabbat, VERIFICATIONS } from './servers/tabbat.ts'

const HELP = `npm run bench:requests -- [options]

What the request log costs a request: the log alone, in one process, with its writes to SQLite; then a server with it and one
without it, asked in turn. And how long a search takes.

  --rounds N    rounds, of which the median counts (5)
  --seconds N   for each server in a round (2)
  --requests N  in the log alone (1000000)
  --only PARTS  log, server or both, separated by a comma (log,server)`

const { values } = readArguments(HELP, {
  rounds: { type: 'string', default: '5' },
  seconds: { type: 'string', default: '2' },
  requests: { type: 'string', default: '1000000' },
  only: { type: 'string', default: 'log,server' },
})
const parts = toChoices('--only', values.only, ['log', 'server'])
const requests = toWhole('--requests', values.requests)
const size = { rounds: toWhole('--rounds', values.rounds), seconds: toWhole('--seconds', values.seconds) }
const folder = mkdtempSync(join(tmpdir(), 'tabbat-bench-'))
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
move(cores.generator, [process.pid])
/** Made before, because the server makes one for each verification in any case. */
const REFERENCES = Array.from({ length: 50_000 }, () => createReference())

if (parts.includes('log')) await measureLog(requests)
if (parts.includes('server')) await measureServers()

/** In steps, as a busy server has them: requests, then a turn of the event loop. */
async function measureLog(count: number): Promise<void> {
  const store = await openStore({ dataDir: folder, databaseUrl: undefined, writerThread: true })
  const log = createRequestLog(store.requests, 'bench')
  const before = process.cpuUsage()
  let inLoop = 0
  for (let done = 0; done < count; done += 1000) {
    const begun = process.threadCpuUsage()
    for (let each = 0; each < 1000; each++) log.add(toRequest(done + each))
    const { user, system } = process.threadCpuUsage(begun)
    inLoop += user + system
    if (done % 50_000 === 0) await log.flush()
    else await new Promise(setImmediate)
  }
  await log.flush()
  const { user, system } = process.cpuUsage(before)
  console.log(`log.add                  ${(inLoop / count).toFixed(2)} µs a request`)
  console.log(`with the writes          ${((user + system) / count).toFixed(2)} µs a request, all threads`)
  const blocks = await store.requests.list({ from: 0, until: Number.MAX_SAFE_INTEGER, most: 100_000 })
  const lines = await Promise.all(blocks.slice(0, 100).map((block) => store.requests.read(block)))
  const bytes = lines.reduce((sum, each) => sum + (each?.lines.length ?? 0), 0)
  const requests = blocks.slice(0, 100).reduce((sum, block) => sum + block.requests, 0)
  console.log(
    `stored                   ${(bytes / requests).toFixed(1)} bytes a request, ${blocks.length} blocks`,
  )
  const startedAt = performance.now()
  const limits = { rows: 50, blocks: blocks.length }
  const { rows } = await searchRequests(
    store.requests,
    { requestId: toRequest(1).requestId },
    undefined,
    limits,
  )
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(2)
  console.log(
    `search by request_id     ${seconds} s for the oldest of ${count} requests (${rows.length} found)`,
  )
  await log.close()
  await store.close()
}

function toRequest(number: number) {
  const digits = String(number).padStart(8, '0')
  return {
    ...{
      requestId: `req_4f1c2a9be0d84c6f9a7d3e5b${digits}`,
      reference: REFERENCES[number % REFERENCES.length],
    },
    ...{ keyId: 'a1B2c3D4', mode: 'live', operation: 'verify_nin', method: 'POST', status: 200 },
    ...{ code: 'verified', durationMs: (number % 977) / 100, fields: undefined },
  }
}

async function measureServers(): Promise<void> {
  const servers: Server[] = []
  const progress = (line: string) => void process.stderr.write(`${line}\n`)
  try {
    const start = async (name: string, env: Record<string, string>) => {
      const server = await startTabbat({ dataDir: join(folder, name), env })
      servers.push(server)
      return { name, server }
    }
    const started = [
      await start('off', { TABBAT_REQUESTS_KEEP: 'off', TABBAT_METRICS_KEYS: 'off' }),
      await start('on', {}),
    ]
    const specs = {
      'verify-nin': VERIFICATIONS['verify-nin'],
      'list-internet-bundles': LOOKUPS['list-internet-bundles'],
    }
    for (const [operation, spec] of Object.entries(specs)) {
      const variants: Variant[] = started.map(({ name, server }) => ({ name, server, spec }))
      print(operation, await runRounds(variants, size, progress))
    }
  } finally {
    for (const server of servers) await server.stop()
  }
}

function print(operation: string, figures: readonly Figure[]): void {
  const [off] = figures
  for (const { name, cpuMicros, perSecond, bad } of figures) {
    const more = off ? (cpuMicros - off.cpuMicros).toFixed(2) : '?'
    const wrong = bad === 0 ? '' : '  ANSWERS WERE NOT 200'
    console.log(
      `${operation.padEnd(24)} ${name.padEnd(4)} ${cpuMicros.toFixed(1).padStart(7)} µs  ${more.padStart(6)} µs more  ${Math.round(perSecond)}/s${wrong}`,
    )
  }
}
