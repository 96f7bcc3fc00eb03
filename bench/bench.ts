import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openCheckout } from './checkout.ts'
import { cores, move } from './cores.ts'
import { generatorName } from './load/generator.ts'
import { type Part, readOptions } from './options.ts'
import { measureCapacity } from './parts/capacity.ts'
import { measureLatency } from './parts/latency.ts'
import { measureLookups } from './parts/lookup.ts'
import { measureMemory } from './parts/memory.ts'
import type { Bench, Results } from './parts/part.ts'
import { measureSlowDatabase } from './parts/slow-database.ts'
import { measureStart } from './parts/start.ts'
import { measureVendor } from './parts/vendor.ts'
import { measureVerifications } from './parts/verify.ts'
import { measureWorkers } from './parts/workers.ts'
import { toReport, toText } from './report.ts'
import { installPeers } from './servers/peers.ts'

/**
 * How fast Tabbat is, beside what could be reached and what others reach: see bench/README.md.
 * npm run bench -- --rounds 3 --seconds 2 --records 1000000 --only lookup,verify --no-peers --json
 */
const options = readOptions()
const startedAt = performance.now()
const notes: string[] = []
const progress = (line: string) => void process.stderr.write(`${line}\n`)
const folder = mkdtempSync(join(tmpdir(), 'tabbat-bench-'))
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1))

const earlier = options.against === undefined ? undefined : openCheckout(options.against, progress)
const note = (line: string) => void notes.push(line)
const bench: Bench = { options, earlier, folder, hasPeers: checkPeers(), progress, note }
// The bench sends requests too. It must not use the server's core.
move(cores.generator, [process.pid])

const results: Results = {}
if (wants('vendor')) results.vendor = await run('a vendor', measureVendor)
if (wants('lookup')) results.lookup = await run('look-ups', measureLookups)
if (wants('verify') || wants('live')) results.verify = await run('verifications', measureVerifications)
if (wants('slow')) results.slow = await run('a database on another machine', measureSlowDatabase)
if (wants('workers')) results.workers = await run('workers', measureWorkers)
if (wants('latency')) results.latency = await run('latency', measureLatency)
if (wants('capacity')) results.capacity = await run('latency by load', measureCapacity)
if (wants('start')) results.start = await run('start', measureStart)
if (wants('memory')) results.memory = await run('memory', measureMemory)

const report = toReport(options, results, notes, (performance.now() - startedAt) / 1000)
writeFileSync(join(import.meta.dirname, 'results.json'), `${JSON.stringify(report, null, 2)}\n`)
console.log(options.json ? JSON.stringify(report) : toText(report))

function wants(part: Part): boolean {
  return options.parts.has(part)
}

/** A part that fails is noted, and does not take the results of the others with it. */
async function run<T>(name: string, measure: (bench: Bench) => Promise<T>): Promise<T | undefined> {
  const from = performance.now()
  progress(`${name} …`)
  try {
    return await measure(bench)
  } catch (error) {
    process.exitCode = 1
    progress(String(error))
    notes.push(`The part "${name}" failed.`)
    return undefined
  } finally {
    progress(`  ${((performance.now() - from) / 1000).toFixed(0)} s`)
  }
}

/** The load generator may have to be installed with the peers. */
function checkPeers(): boolean {
  const needsGenerator = generatorName === 'autocannon'
  if (!options.peers && !needsGenerator) return false
  const has = installPeers(progress)
  if (!has && needsGenerator) throw new Error('There is neither wrk nor autocannon. Install wrk.')
  if (!has) notes.push('The peers are left out: npm ci --prefix bench/peers failed.')
  return options.peers && has
}
