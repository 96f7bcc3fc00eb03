import { expect, test } from 'vitest'
import { hasOwnPostgres } from '../postgres.ts'
import type { SeedResult } from './child.ts'
import { runSeeds } from './pool.ts'
import { startPostgres } from './postgres/start-postgres.ts'

test.skipIf(!hasOwnPostgres())(
  'on PostgreSQL the invariants hold, and the same seed gives the same run, alone and after another',
  { timeout: 600_000 },
  async () => {
    const server = await startPostgres()
    const run = async (...seeds: number[]): Promise<SeedResult[]> => {
      const results: SeedResult[] = []
      const onResult = (result: SeedResult) => void results.push(result)
      await runSeeds(seeds, { jobs: 1, toEngine: () => 'postgres', postgresUrl: server.url, onResult })
      return results
    }
    try {
      const [first, after] = await run(3, 13)
      const [alone] = await run(13)
      expect([first?.faults, after?.faults]).toEqual([[], []])
      expect(after?.fingerprint).toBe(alone?.fingerprint)
      expect(first?.fingerprint).not.toBe(alone?.fingerprint)
      expect(alone?.figures.statements).toBeGreaterThan(0)
    } finally {
      await server.stop()
    }
  },
)
