import { join, relative } from 'node:path'
import { createVitest, type TestModule, type TestSpecification } from 'vitest/node'

/** Tests of one file; without names all of them. */
type TestFile = { readonly file: string; readonly names?: readonly string[] | undefined }

/** Runs these tests, their files in this order, until one fails. */
export type RunRequest = {
  readonly tests: readonly TestFile[]
  /** Files of the product that were changed since the last run. */
  readonly changed?: readonly string[]
  /** The instrumented product notes here what it reached. */
  readonly hits?: string
}

export type RunReply = {
  readonly failed: boolean
  /** The test that failed. */
  readonly by?: string | undefined
  /** The names of all tests that failed. Empty: a file cannot be loaded, or a hook failed. */
  readonly failedTests: readonly string[]
}

/**
 * Vitest stays open between runs: it keeps the transformed modules, and reads those again that were changed. Each run has a new
 * thread, so that what a module keeps is new as well.
 */
const root = process.argv[2] as string
let order: readonly string[] = []

const vitest = await createVitest(
  'test',
  {
    root,
    config: false,
    watch: false,
    pool: 'threads',
    isolate: false,
    maxWorkers: 1,
    bail: 1,
    include: ['test/**/*.test.ts'],
    setupFiles: ['test/mutation/note-tests.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 20_000 } },
    reporters: [{}],
    provide: { postgres: JSON.parse(process.env.TABBAT_MUTATION_POSTGRES as string) },
    sequence: {
      sequencer: class {
        shard(specifications: TestSpecification[]) {
          return specifications
        }
        sort(specifications: TestSpecification[]) {
          const place = ({ moduleId }: TestSpecification) => order.indexOf(relative(root, moduleId))
          return specifications.toSorted((one, other) => place(one) - place(other))
        }
      },
    },
  },
  { logLevel: 'silent' },
)

// Whoever asked is gone, perhaps killed.
process.on('disconnect', () => process.exit())
process.on('message', async ({ tests, changed = [], hits }: RunRequest) => {
  // Of the instrumented product all tests are wanted.
  vitest.config.bail = hits === undefined ? 1 : 0
  if (hits === undefined) delete process.env.TABBAT_MUTATION_HITS
  else process.env.TABBAT_MUTATION_HITS = hits
  for (const file of changed) vitest.invalidateFile(join(root, file))
  order = tests.map(({ file }) => file)
  const [project] = vitest.projects
  const specifications = tests.map(({ file, names }) =>
    project?.createSpecification(join(root, file), names && { testNames: [...names] }),
  )
  const { testModules, unhandledErrors } = await vitest.runTestSpecifications(
    specifications.filter((one) => one !== undefined),
  )
  // Vitest also knows the results of earlier runs.
  const failing = testModules.filter((one) => order.includes(relative(root, one.moduleId)) && !one.ok())
  const [failed] = failing
  const reply: RunReply = {
    failed: failed !== undefined || unhandledErrors.length > 0,
    by: failed ? describe(failed) : unhandledErrors.length > 0 ? 'an error outside the tests' : undefined,
    failedTests: failing.flatMap((module) =>
      [...module.children.allTests('failed')].map(({ fullName }) => fullName),
    ),
  }
  process.send?.(reply)
})

function describe(module: TestModule): string {
  const [test] = module.children.allTests('failed')
  return `${relative(root, module.moduleId)}${test ? ` > ${test.fullName}` : ''}`
}
