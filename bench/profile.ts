import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { readArguments, refuse, toWhole } from '../build/tool-arguments.ts'
import { CURRENT, ROOT } from './checkout.ts'
import { load } from './load/generator.ts'
import type { RequestSpec } from './load/request-spec.ts'
import type { Stop } from './parts/live.ts'
import { startVendor, toVendorEnv } from './parts/vendor.ts'
import { openSqliteRegistry } from './registry.ts'
import { CONNECTIONS, LOOKUPS, startTabbat, VERIFICATIONS } from './servers/tabbat.ts'

type Profile = {
  readonly nodes: readonly { readonly id: number; readonly callFrame: CallFrame }[]
  readonly samples: readonly number[]
  readonly timeDeltas: readonly number[]
  /** On the clock that does not jump, in microseconds. */
  readonly startTime: number
}
/** The part of the profile that counts: starting and stopping are not what is asked about. */
type Span = { readonly from: number; readonly to: number; readonly requests: number }
type CallFrame = { readonly functionName: string; readonly url: string; readonly lineNumber: number }

const LIVE = VERIFICATIONS['verify-nin']
const REQUESTS: Readonly<Record<string, RequestSpec>> = {
  'verify-nin': VERIFICATIONS['verify-nin'],
  'verify-nin-live': LIVE,
  'verify-nin-live-key': { ...LIVE, isIdempotent: true },
  vendor: LIVE,
  lookup: LOOKUPS['list-internet-bundles'],
}

const HELP = `node bench/profile.ts ${Object.keys(REQUESTS).join('|')} [options]

Where the time goes, as text: the functions in which each thread of the server was found most often, under load. Live is with
SQLite; -key sends an Idempotency-Key with each request; vendor asks one that answers at once.

  --seconds N  of load (default 5)
  --top N      functions for each thread (30)
  --records N  people of the registry, for live requests (100000)`

const { values, positionals } = readArguments(
  HELP,
  {
    seconds: { type: 'string', default: '5' },
    top: { type: 'string', default: '30' },
    records: { type: 'string', default: '100000' },
  },
  { positionals: 1 },
)
const name = positionals[0] ?? ''
const request = REQUESTS[name] ?? refuse(`Say what: ${Object.keys(REQUESTS).join(', ')}.`)
const top = toWhole('--top', values.top)
const folder = mkdtempSync(join(tmpdir(), 'tabbat-profile-'))
try {
  const span = await record(request, toWhole('--seconds', values.seconds))
  for (const file of readdirSync(folder)
    .filter((each) => each.endsWith('.cpuprofile'))
    .toSorted())
    print(toThread(file), JSON.parse(readFileSync(join(folder, file), 'utf8')) as Profile, span)
} finally {
  rmSync(folder, { recursive: true, force: true })
}

async function record(asked: RequestSpec, seconds: number): Promise<Span> {
  const { spec, dataDir } = await prepare(asked)
  const stops: Stop[] = []
  const env = name === 'vendor' ? toVendorEnv(await startVendor({ folder }, '0', stops)) : {}
  const flags = ['--cpu-prof', `--cpu-prof-dir=${folder}`]
  const server = await startTabbat({ dataDir, flags, env })
  const what = { port: server.port, spec, connections: CONNECTIONS[spec.method] }
  // Compiling is not what is asked about either.
  await load({ ...what, seconds: 1 })
  const from = readClock()
  const { requests } = await load({ ...what, seconds })
  const to = readClock()
  await server.stop()
  for (const stop of stops) await stop()
  console.log(`${name}: ${requests} requests in ${seconds} s, with the profiler on`)
  return { from, to, requests }
}

/** Live requests are about people of a filled registry. */
async function prepare(asked: RequestSpec): Promise<{ spec: RequestSpec; dataDir: string }> {
  if (!name.startsWith('verify-nin-live') && name !== 'vendor')
    return { spec: asked, dataDir: join(folder, 'data') }
  const count = toWhole('--records', values.records)
  const { dataDir, key } = await openSqliteRegistry(CURRENT, folder, count, console.log)
  return { spec: { ...asked, key, count } as RequestSpec, dataDir }
}

function readClock(): number {
  return Number(process.hrtime.bigint() / 1000n)
}

/** CPU.<date>.<time>.<process>.<thread>.<number>.cpuprofile; the main thread is 0. */
function toThread(file: string): string {
  const thread = file.split('.').at(-3)
  return thread === '0' ? 'main thread' : `thread ${thread}`
}

function print(
  thread: string,
  { nodes, samples, timeDeltas, startTime }: Profile,
  { from, to, requests }: Span,
): void {
  const names = new Map(nodes.map(({ id, callFrame }) => [id, toPlace(callFrame)]))
  const times = new Map<string, number>()
  let now = startTime
  for (const [index, id] of samples.entries()) {
    now += timeDeltas[index] ?? 0
    if (now < from || now > to) continue
    const place = names.get(id) ?? ''
    times.set(place, (times.get(place) ?? 0) + (timeDeltas[index] ?? 0) / 1000)
  }
  const idle = times.get('(idle)') ?? 0
  times.delete('(idle)')
  const busy = [...times.values()].reduce((sum, each) => sum + each, 0)
  console.log(
    `\n${thread}: busy ${busy.toFixed(0)} ms, idle ${idle.toFixed(0)} ms\n   ms  share   µs each  where`,
  )
  for (const [place, ms] of [...times].toSorted(([, a], [, b]) => b - a).slice(0, top))
    console.log(
      `${ms.toFixed(0).padStart(5)}  ${((ms / busy) * 100).toFixed(1).padStart(4)} %  ${((ms * 1000) / requests).toFixed(1).padStart(7)}  ${place}`,
    )
}

/** The same function counts as one wherever it was called from. */
function toPlace({ functionName, url, lineNumber }: CallFrame): string {
  if (url === '') return functionName || '(native)'
  const path = url.startsWith('file://') ? relative(ROOT, new URL(url).pathname) : url
  return `${functionName || '(anonymous)'} ${path}:${lineNumber + 1}`
}
