import { existsSync } from 'node:fs'
import { join, relative } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Of npm test, the longest first. */
const LONG_FILES = [
  'test/simulation/simulation.test.ts',
  'test/operations/pending.test.ts',
  'test/sources/contract.test.ts',
  'test/client/scenarios.test.ts',
  'test/operations/late-answers.test.ts',
  'test/rehearsal/postgres-proxy.test.ts',
  'test/webhooks/audit-unavailable.test.ts',
  'test/audit/archive-crash.test.ts',
  'test/audit/archive.test.ts',
  'test/simulation/postgres.test.ts',
  'test/operations/pending-ends.test.ts',
  'test/http/samples.test.ts',
]

/**
 * Starts the files that take the longest first. A file that runs for a minute, and starts last, runs alone, and leaves a processor
 * idle. Vitest knows durations from earlier runs only: in a clean checkout it sorts files by their size, and some of the longest
 * are among the smallest. A file that is not listed runs after these, in the order of Vitest.
 */
export class LongFilesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const { root } = this.ctx.config
    const missing = LONG_FILES.filter((file) => !existsSync(join(root, file)))
    if (missing.length > 0)
      throw new Error(`test/run/long-files-first.ts lists files that do not exist: ${missing.join(', ')}`)
    const ranks = new Map(LONG_FILES.map((file, rank) => [file, rank]))
    const toRank = ({ moduleId }: TestSpecification) =>
      ranks.get(relative(root, moduleId)) ?? LONG_FILES.length
    return (await super.sort(files)).toSorted((one, other) => toRank(one) - toRank(other))
  }
}
