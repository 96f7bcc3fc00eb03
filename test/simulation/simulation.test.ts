import { expect, test } from 'vitest'
import type { SeedResult } from './child.ts'
import { runSeeds } from './pool.ts'

/** A share of what `npm run simulate` runs. */
const SEEDS = 200
const JOBS = 2

async function run(seeds: readonly number[], jobs = 1): Promise<Map<number, SeedResult>> {
  const results = new Map<number, SeedResult>()
  await runSeeds(seeds, { jobs, onResult: (result) => void results.set(result.seed, result) })
  return results
}

test('whatever goes wrong in a run, the invariants hold, and the same seed gives the same run, alone and after others', {
  timeout: 1_800_000,
}, async () => {
  const results = await run(
    Array.from({ length: SEEDS }, (_each, index) => index + 1),
    JOBS,
  )
  const failed = [...results.values()].filter(({ faults }) => faults.length > 0)
  expect(failed.map(({ seed, faults }) => ({ seed, faults }))).toEqual([])
  expect(new Set([...results.values()].map(({ fingerprint }) => fingerprint)).size).toBe(SEEDS)
  const alone = await run([13])
  expect(alone.get(13)?.fingerprint).toBe(results.get(13)?.fingerprint)
})
