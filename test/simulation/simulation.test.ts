import { expect, test } from 'vitest'
import type { SeedResult } from './child.ts'
import { runSeeds } from './pool.ts'

/** More by `npm run simulate`. */
const SEEDS = 40
const JOBS = 2

async function run(seeds: readonly number[], jobs = 1): Promise<Map<number, SeedResult>> {
  const results = new Map<number, SeedResult>()
  await runSeeds(seeds, { jobs, onResult: (result) => void results.set(result.seed, result) })
  return results
}

test('whatever goes wrong in a run, the invariants hold', { timeout: 600_000 }, async () => {
  const results = await run(
    Array.from({ length: SEEDS }, (_each, index) => index + 1),
    JOBS,
  )
  const failed = [...results.values()].filter(({ faults }) => faults.length > 0)
  expect(failed.map(({ seed, faults }) => ({ seed, faults }))).toEqual([])
  expect(results.size).toBe(SEEDS)
})

test('the same seed gives the same run, event by event, alone and after others', {
  timeout: 600_000,
}, async () => {
  const [after, alone] = [await run([11, 12, 13]), await run([13])]
  expect(alone.get(13)?.fingerprint).toBe(after.get(13)?.fingerprint)
  expect(after.get(12)?.fingerprint).not.toBe(after.get(13)?.fingerprint)
})
