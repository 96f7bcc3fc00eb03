import { availableParallelism } from 'node:os'
import { readArguments, toChoice, toWhole } from '../../build/tool-arguments.ts'
import { hasOwnPostgres } from '../postgres.ts'
import type { SeedResult } from './child.ts'
import { DEFECTS } from './defects.ts'
import { type PoolOptions, runSeeds } from './pool.ts'
import { startPostgres } from './postgres/start-postgres.ts'
import type { Engine } from './template.ts'

const HELP = `npm run simulate -- [options]

Runs the product against a clock, a network, a disk and processes that one seed decides, and checks what must hold.

  --seeds N      how many seeds (default 200)
  --from N       the first seed (default 1)
  --seed N       only this seed, and print what happened
  --jobs N       processes at the same time (default: one for each core)
  --engine NAME  sqlite or postgres for all seeds (default: postgres for every tenth seed)
  --defect NAME  with a planted defect: stops at the first seed that finds it
  --json         one line of JSON for each seed
`

const { values } = readArguments(HELP, {
  seeds: { type: 'string', default: '200' },
  from: { type: 'string', default: '1' },
  seed: { type: 'string' },
  jobs: { type: 'string', default: String(availableParallelism()) },
  engine: { type: 'string' },
  defect: { type: 'string' },
  json: { type: 'boolean', default: false },
})
const count = toWhole('--seeds', values.seeds)
const first = toWhole('--from', values.from, 0)
const only = values.seed === undefined ? undefined : toWhole('--seed', values.seed, 0)
const jobs = toWhole('--jobs', values.jobs)
const engine =
  values.engine === undefined ? undefined : toChoice('--engine', values.engine, ['sqlite', 'postgres'])
if (values.defect !== undefined) toChoice('--defect', values.defect, Object.keys(DEFECTS))

async function runOne(seed: number): Promise<number> {
  let faults: readonly string[] = []
  await withPostgres([seed], {
    jobs: 1,
    defect: values.defect,
    withTrace: true,
    onResult: (result) => {
      faults = result.faults
      if (values.json) console.log(JSON.stringify(result))
      else console.log([...(result.trace ?? []), '', describe(result)].join('\n'))
      return undefined
    },
  })
  return faults.length === 0 ? 0 : 1
}

async function runMany(): Promise<number> {
  const seeds = Array.from({ length: count }, (_each, index) => first + index)
  const failed: SeedResult[] = []
  const totals = new Map<string, number>()
  let done = 0
  await withPostgres(seeds, {
    jobs,
    defect: values.defect,
    onResult: (result) => {
      done += 1
      for (const [name, value] of Object.entries(result.figures))
        totals.set(name, (totals.get(name) ?? 0) + value)
      if (values.json) console.log(JSON.stringify(result))
      else if (process.stderr.isTTY)
        process.stderr.write(`\r${done} of ${count} seeds, ${failed.length} failed `)
      if (result.faults.length === 0) return undefined
      failed.push(result)
      if (!values.json) console.log(describe(result))
      return values.defect === undefined
    },
  })
  if (!values.json) console.log(summarise(done, failed.length, totals))
  return failed.length === 0 ? 0 : 1
}

const summarise = (done: number, failed: number, totals: ReadonlyMap<string, number>) =>
  [`${done} seeds, ${failed} failed`, ...[...totals].map(([name, value]) => `  ${value} ${name}`)].join('\n')

const MAX_SHOWN = 8

function describe({ seed, faults, disturbances, fingerprint }: SeedResult): string {
  if (faults.length === 0) return `seed ${seed}: nothing is wrong (${fingerprint})`
  const more = faults.length > MAX_SHOWN ? [`  and ${faults.length - MAX_SHOWN} more`] : []
  const defect = values.defect === undefined ? '' : ` --defect ${values.defect}`
  const chosen = engine === undefined ? '' : ` --engine ${engine}`
  return [
    `seed ${seed} failed, with ${disturbances.join(', ') || 'no disturbance'} (${fingerprint}):`,
    ...faults.slice(0, MAX_SHOWN).map((fault) => `  ${fault}`),
    ...more,
    `  Again: npm run simulate -- --seed ${seed}${chosen}${defect}`,
  ].join('\n')
}

/** Another engine makes another run of the same seed. */
const toEngine = (seed: number): Engine => engine ?? (seed % SHARE === 0 ? 'postgres' : 'sqlite')

/** One seed of so many runs on PostgreSQL. */
const SHARE = 10

/** Runs the seeds with a server of PostgreSQL, if one of them needs it. Where there is none, those seeds are left out. */
async function withPostgres(seeds: readonly number[], options: PoolOptions): Promise<void> {
  const isNeeded = seeds.some((seed) => toEngine(seed) === 'postgres')
  if (isNeeded && !hasOwnPostgres()) {
    const left = seeds.filter((seed) => toEngine(seed) === 'sqlite')
    console.error(`${seeds.length - left.length} seeds are skipped: there is no PostgreSQL in node_modules.`)
    return runSeeds(left, { ...options, toEngine })
  }
  const server = isNeeded ? await startPostgres() : undefined
  // The server ends with this process.
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1))
  try {
    await runSeeds(seeds, { ...options, toEngine, postgresUrl: server?.url })
  } finally {
    await server?.stop()
  }
}

process.exitCode = await (only === undefined ? runMany() : runOne(only))
