import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readArguments, toWhole } from '../build/tool-arguments.ts'
import { openCheckout } from './checkout.ts'
import { bind, cores, move } from './cores.ts'
import { type Figure, runRounds, type Variant } from './rounds.ts'
import type { Server } from './servers/server.ts'
import { LOOKUPS, startTabbat, VERIFICATIONS } from './servers/tabbat.ts'

const HELP = `npm run bench:telemetry -- [options]

What OpenTelemetry costs a request: off, on with 10 % of the requests sampled, on with all, asked in turn. The collector is a
process of its own beside the load generator.

  --rounds N        rounds, of which the median counts (5)
  --seconds N       for each server in a round (2)
  --against COMMIT  measure an earlier commit, too`

const { values } = readArguments(HELP, {
  rounds: { type: 'string', default: '5' },
  seconds: { type: 'string', default: '2' },
  against: { type: 'string' },
})
const size = { rounds: toWhole('--rounds', values.rounds), seconds: toWhole('--seconds', values.seconds) }
const progress = (line: string) => void process.stderr.write(`${line}\n`)
const earlier = values.against === undefined ? undefined : openCheckout(values.against, progress)
const folder = mkdtempSync(join(tmpdir(), 'tabbat-bench-'))
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
move(cores.generator, [process.pid])

const COLLECTOR = `
require('node:http')
  .createServer((request, response) => request.on('end', () => response.end()).resume())
  .listen(0, '127.0.0.1', function () { console.log(this.address().port) })`

const [program, args] = bind(cores.generator, [process.execPath, '-e', COLLECTOR])
const collector = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] })
const port = String((await once(collector.stdout, 'data'))[0]).trim()
const servers: Server[] = []
try {
  const on = { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}` }
  const sample = (ratio: string) => ({
    ...on,
    OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
    OTEL_TRACES_SAMPLER_ARG: ratio,
  })
  const start = async (name: string, env: Record<string, string>, checkout = earlier) => {
    const dataDir = join(folder, name.replaceAll(/\W+/g, '-'))
    const server = await startTabbat({
      dataDir,
      env,
      ...(name === 'earlier' && checkout ? { checkout } : {}),
    })
    servers.push(server)
    return { name, server }
  }
  const started = [
    await start('off', {}),
    ...(earlier ? [await start('earlier', {})] : []),
    await start('10 %', sample('0.1')),
    await start('all', sample('1')),
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
  collector.kill()
}

function print(operation: string, figures: readonly Figure[]): void {
  const [off] = figures
  for (const { name, cpuMicros, perSecond, bad } of figures) {
    const share = off ? ((cpuMicros / off.cpuMicros - 1) * 100).toFixed(1) : '?'
    const wrong = bad === 0 ? '' : '  ANSWERS WERE NOT 200'
    console.log(
      `${operation.padEnd(24)} ${name.padEnd(8)} ${cpuMicros.toFixed(1).padStart(7)} µs  ${share.padStart(5)} %  ${Math.round(perSecond)}/s${wrong}`,
    )
  }
}
