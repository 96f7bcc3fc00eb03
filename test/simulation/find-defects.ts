import { readArguments, refuse, toWhole } from '../../build/tool-arguments.ts'
import { DEFECTS, type PlantedDefect } from './defects.ts'
import { runSeeds } from './pool.ts'

const HELP = `npm run simulate:defects -- [options] [name of a defect …]

Plants each defect in the text of the product that the simulation loads, and runs seeds until the invariant that it breaks fails.
Exits with 1 if one is not found.

  --seeds N  how many seeds at most (default 2000)
  --jobs N   processes at the same time (default 2)
  --noted    only the seed that is noted for each
`

const { values, positionals } = readArguments(
  HELP,
  {
    seeds: { type: 'string', default: '2000' },
    jobs: { type: 'string', default: '2' },
    noted: { type: 'boolean', default: false },
  },
  { positionals: Number.POSITIVE_INFINITY },
)
const [count, jobs] = [toWhole('--seeds', values.seeds), toWhole('--jobs', values.jobs)]
const unknown = positionals.find((name) => !DEFECTS[name])
if (unknown !== undefined)
  refuse(`No defect is called ${unknown}. Known are: ${Object.keys(DEFECTS).join(', ')}.`)
process.exitCode = await findAll()

async function findAll(): Promise<number> {
  let missed = 0
  console.log('| defect | breaks | first seed |\n|---|---|---|')
  for (const [name, planted] of Object.entries(DEFECTS)) {
    if (positionals.length > 0 && !positionals.includes(name)) continue
    const seed = await findFirst(name, planted)
    if (seed === undefined) missed += 1
    console.log(`| ${planted.says} (\`${name}\`) | ${planted.breaks} | ${seed ?? 'not found'} |`)
  }
  if (missed > 0) console.error(`${missed} defects were not found.`)
  return missed === 0 ? 0 : 1
}

/** Faults of another kind do not count. */
async function findFirst(name: string, { breaks, seed }: PlantedDefect): Promise<number | undefined> {
  const found: number[] = []
  const seeds = values.noted ? [seed] : Array.from({ length: count }, (_each, index) => index + 1)
  await runSeeds(seeds, {
    jobs,
    defect: name,
    onResult: (result) => {
      if (!result.faults.some((fault) => fault.startsWith(`${breaks}: `))) return true
      found.push(result.seed)
      return false
    },
  })
  return found.length === 0 ? undefined : Math.min(...found)
}
