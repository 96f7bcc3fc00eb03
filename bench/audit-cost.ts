import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { readArguments, toWhole } from '../build/tool-arguments.ts'
import type { AuditLog } from '../src/audit/audit-log.ts'
import { loadConfig } from '../src/context/config.ts'
import { SANDBOX_KEY } from '../src/keys/sandbox-key.ts'
import { createApiServer } from '../src/server/api-server.ts'
import { createContext } from '../src/server/create-context.ts'

const HELP = `npm run bench:audit-cost -- [options]

What the audit log costs: the same server with it and without it, in one process, asked in turns.

  --rounds N       rounds, of which the median counts (5)
  --seconds N      for each server in a round (2)
  --connections N  callers (64)`

const { values } = readArguments(HELP, {
  rounds: { type: 'string', default: '5' },
  seconds: { type: 'string', default: '2' },
  connections: { type: 'string', default: '64' },
  // Of the process that it starts.
  serve: { type: 'string' },
})
for (const name of ['rounds', 'seconds', 'connections'] as const) toWhole(`--${name}`, values[name])

type Ports = { readonly audited: number; readonly silent: number }
type Variant = { readonly name: string; readonly port: keyof Ports; readonly hasHeader: boolean }
type Sample = { readonly perSecond: number; readonly p50Ms: number; readonly p99Ms: number; loopMs: number }

const VARIANTS: readonly Variant[] = [
  { name: 'without audit', port: 'silent', hasHeader: false },
  { name: 'with audit', port: 'audited', hasHeader: false },
  { name: 'with audit and Idempotency-Key', port: 'audited', hasHeader: true },
]

let asked = 0

if (values.serve === undefined) await measure()
else await serve(values.serve)

/** Both servers, on ports of their own. Tells the delay of its event loop when it is asked, and begins anew. */
async function serve(dataDir: string): Promise<void> {
  const config = loadConfig(
    { TABBAT_DATA_DIR: dataDir, TABBAT_LOG_LEVEL: 'silent', TABBAT_RATE_LIMIT: 'off' },
    '',
  )
  const context = await createContext(config)
  const silent = { requireHealthy: () => {}, record: async () => {}, notice: () => false }
  const listen = async (audit: AuditLog) =>
    Number(new URL(await createApiServer({ ...context, audit }).listen({ host: '127.0.0.1', port: 0 })).port)
  const ports: Ports = {
    audited: await listen(context.audit),
    silent: await listen(silent as unknown as AuditLog),
  }
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  process.send?.(ports)
  process.on('disconnect', () => process.exit())
  process.on('message', () => {
    process.send?.(delay.percentile(99) / 1e6)
    delay.reset()
  })
}

async function measure(): Promise<void> {
  const dataDir = mkdtempSync(join(tmpdir(), 'tabbat-bench-'))
  const server = fork(import.meta.filename, ['--serve', dataDir], { serialization: 'advanced' })
  const [ports] = (await once(server, 'message')) as [Ports]
  const samples = new Map<Variant, Sample[]>(VARIANTS.map((variant) => [variant, []]))
  for (const variant of VARIANTS) await runRound(server, ports, variant, 1000)
  for (let round = 1; round <= Number(values.rounds); round++) {
    for (const variant of VARIANTS) {
      const sample = await runRound(server, ports, variant, Number(values.seconds) * 1000)
      samples.get(variant)?.push(sample)
    }
    process.stderr.write(`round ${round} of ${values.rounds}\n`)
  }
  server.kill()
  await once(server, 'exit')
  rmSync(dataDir, { recursive: true })
  print(samples)
}

async function runRound(server: ChildProcess, ports: Ports, variant: Variant, forMs: number) {
  await readDelay(server)
  const until = performance.now() + forMs
  const port = ports[variant.port]
  const callers = Array.from({ length: Number(values.connections) }, () =>
    call(port, variant.hasHeader, until),
  )
  const times = (await Promise.all(callers)).flat().toSorted((a, b) => a - b)
  const at = (share: number) => times[Math.floor(times.length * share)] ?? 0
  const sample: Sample = {
    perSecond: (times.length / forMs) * 1000,
    p50Ms: at(0.5),
    p99Ms: at(0.99),
    loopMs: await readDelay(server),
  }
  return sample
}

async function readDelay(server: ChildProcess): Promise<number> {
  const answer = once(server, 'message')
  server.send('delay')
  return (await answer)[0] as number
}

/** One connection that sends the next request as soon as it has the answer. Gives the milliseconds of each. */
function call(port: number, hasHeader: boolean, until: number): Promise<number[]> {
  const { promise, resolve, reject } = Promise.withResolvers<number[]>()
  const times: number[] = []
  const socket = connect(port, '127.0.0.1').setNoDelay().setEncoding('latin1')
  let sentAt = 0
  let received = ''
  const spec = () => {
    sentAt = performance.now()
    socket.write(toRequest(hasHeader))
  }
  socket.on('connect', spec).on('error', reject)
  socket.on('data', (piece) => {
    received += piece
    if (!isWhole(received)) return
    if (!received.startsWith('HTTP/1.1 200')) reject(new Error(received.slice(0, 400)))
    times.push(performance.now() - sentAt)
    received = ''
    if (performance.now() < until) spec()
    else resolve(times)
  })
  return promise.finally(() => socket.destroy())
}

function isWhole(received: string): boolean {
  const headEnd = received.indexOf('\r\n\r\n')
  const length = /content-length: (\d+)/i.exec(received)?.[1]
  return headEnd >= 0 && received.length >= headEnd + 4 + Number(length)
}

/** No two are the same, so that none shares the answer of another. */
function toRequest(hasHeader: boolean): string {
  const body = JSON.stringify({ nin: String(20_000_000_000 + ++asked), phone: '08031234567' })
  const header = hasHeader ? `Idempotency-Key: order-${asked}\r\n` : ''
  return `POST /api/v2/kyc/verify-nin HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer ${SANDBOX_KEY}\r\nContent-Type: application/json\r\n${header}Content-Length: ${body.length}\r\n\r\n${body}`
}

function print(samples: ReadonlyMap<Variant, readonly Sample[]>): void {
  const rows = [...samples].map(([{ name }, list]) => [
    name,
    median(list.map(({ perSecond }) => perSecond)).toFixed(0),
    median(list.map(({ p50Ms }) => p50Ms)).toFixed(1),
    median(list.map(({ p99Ms }) => p99Ms)).toFixed(1),
    median(list.map(({ loopMs }) => loopMs)).toFixed(1),
  ])
  const head = ['', 'verifications/s', 'p50 ms', 'p99 ms', 'event-loop delay p99 ms']
  console.log(
    `\nmedian of ${values.rounds} rounds of ${values.seconds} s, ${values.connections} connections, SQLite\n`,
  )
  for (const [name = '', ...cells] of [head, ...rows])
    console.log(
      name.padEnd(32) +
        cells.map((cell, index) => cell.padStart((head[index + 1]?.length ?? 0) + 2)).join(''),
    )
}

function median(list: readonly number[]): number {
  return list.toSorted((a, b) => a - b)[Math.floor(list.length / 2)] ?? 0
}
