import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import { readArguments, toWhole } from '../build/tool-arguments.ts'
import { SANDBOX_KEY } from '../src/keys/sandbox-key.ts'

const HELP = `npm run bench:batches -- [requests a second] [seconds of a round] [rounds]

Single verifications at a fixed rate (200 10 3): without a batch, while batches of 50 000 rows are uploaded one after the other, and
while a batch is running, in turn. Prints the latencies of each round and the ratios of the medians of the 99th percentiles. A batch
runs at the rate of the settings.`

const [perSecond = 200, seconds = 10, rounds = 3] = readArguments(
  HELP,
  {},
  { positionals: 3 },
).positionals.map((text) => toWhole('Each figure', text))

const dataDir = mkdtempSync(join(tmpdir(), 'tabbat-bench-batches-'))
const env = {
  ...process.env,
  TABBAT_DATA_DIR: dataDir,
  TABBAT_PORT: '0',
  TABBAT_ADMIN_PORT: 'off',
  TABBAT_LOG_LEVEL: 'silent',
}
const agent = new Agent({ keepAlive: true, maxSockets: 64 })

async function startServer() {
  const child = spawn('bin/tabbat', ['serve'], {
    env: { ...env, TABBAT_RATE_LIMIT: 'off' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let banner = ''
  for await (const piece of child.stdout) {
    banner += piece
    if (/listening on +\S+\s/.test(banner)) break
  }
  const url = /listening on +(\S+)/.exec(banner)?.[1]
  if (!url) throw new Error('the server did not start')
  return { child, url }
}

async function createTestKey(): Promise<string> {
  const child = spawn('bin/tabbat', ['keys', 'create', '--name', 'batches', '--mode', 'test', '--json'], {
    env,
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  return (JSON.parse(await text(child.stdout)) as { key: string }).key
}

async function send(url: string, method: string, key: string, body: string, type = 'application/json') {
  const headers = {
    authorization: `Bearer ${key}`,
    'content-type': type,
    'content-length': Buffer.byteLength(body),
  }
  const sent = request(url, { agent, method, headers })
  sent.end(body)
  const [response] = await once(sent, 'response')
  return { status: response.statusCode as number, body: await text(response) }
}

/** Latencies in ms of requests that begin at fixed times, whether or not those before were answered. */
async function measure(url: string): Promise<number[]> {
  const latencies: Promise<number>[] = []
  const begin = performance.now()
  for (let count = 0; count < perSecond * seconds; count++) {
    const due = begin + (count * 1000) / perSecond
    const wait = due - performance.now()
    if (wait > 0) await pause(wait)
    const nin = String(30_000_000_000 + count)
    const body = JSON.stringify({ nin, phone: '08031234567' })
    latencies.push(
      send(`${url}/api/v2/kyc/verify-nin`, 'POST', SANDBOX_KEY, body).then(({ status }) => {
        if (status !== 200) throw new Error(`answered ${status}`)
        return performance.now() - due
      }),
    )
  }
  return (await Promise.all(latencies)).sort((one, other) => one - other)
}

const at = (sorted: readonly number[], part: number) => sorted[Math.floor(sorted.length * part)] ?? Number.NaN
const median = (values: readonly number[]) =>
  at(
    [...values].sort((one, other) => one - other),
    0.5,
  )

const toRow = (index: number) =>
  JSON.stringify({ operation: 'verify_nin', nin: String(60_000_000_000 + index), phone: '08031234567' })

const toBody = (round: number) =>
  Array.from({ length: 50_000 }, (_each, index) => toRow(round * 50_000 + index)).join('\n')

const { child, url } = await startServer()
const batches = `${url}/api/v2/kyc/batches`

async function upload(key: string, rows: string): Promise<string> {
  const { status, body } = await send(batches, 'POST', key, rows, 'application/x-ndjson')
  if (status !== 202) throw new Error(`the batch was answered ${status}`)
  return (JSON.parse(body) as { data: { id: string } }).data.id
}

/** Ends a batch, so that its rows are not verified in the rounds after. */
async function cancel(key: string, id: string): Promise<void> {
  for (let method = 'DELETE'; ; method = 'GET') {
    const { body } = await send(`${batches}/${id}`, method, key, '')
    if ((JSON.parse(body) as { data: { ended_at: string | null } }).data.ended_at !== null) return
    await pause(100)
  }
}

/** Until the measurement ends. Returns the ids and how long each upload took. */
async function keepUploading(key: string, rows: string, isOver: () => boolean) {
  const ids: string[] = []
  const times: number[] = []
  while (!isOver()) {
    const begin = performance.now()
    ids.push(await upload(key, rows))
    times.push(performance.now() - begin)
  }
  return { ids, times }
}

const toText = (latencies: readonly number[]) =>
  `p50 ${at(latencies, 0.5).toFixed(2)} ms, p99 ${at(latencies, 0.99).toFixed(2)} ms`

try {
  const key = await createTestKey()
  await measure(url)
  const p99s = { without: [] as number[], uploading: [] as number[], running: [] as number[] }
  for (let round = 0; round < rounds; round++) {
    const rows = toBody(round)
    const plain = await measure(url)
    let isOver = false
    const uploads = keepUploading(key, rows, () => isOver)
    const uploading = await measure(url)
    isOver = true
    const { ids, times } = await uploads
    for (const id of ids) await cancel(key, id)
    const begin = performance.now()
    const id = await upload(key, rows)
    const aloneMs = performance.now() - begin
    const running = await measure(url)
    await cancel(key, id)
    p99s.without.push(at(plain, 0.99))
    p99s.uploading.push(at(uploading, 0.99))
    p99s.running.push(at(running, 0.99))
    console.log(
      `round ${round + 1}: ${toText(plain)}; uploading ${toText(uploading)} (50 000 rows in ` +
        `${(median(times) / 1000).toFixed(1)} s, alone in ${(aloneMs / 1000).toFixed(1)} s); running ${toText(running)}`,
    )
    await pause(2000)
  }
  const plain = median(p99s.without)
  console.log(`p99 while uploading / without: ${(median(p99s.uploading) / plain).toFixed(2)}`)
  console.log(`p99 while a batch runs / without: ${(median(p99s.running) / plain).toFixed(2)}`)
} finally {
  child.kill('SIGTERM')
  await once(child, 'exit')
  rmSync(dataDir, { recursive: true, force: true })
}
