import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { defineConfig } from 'vitest/config'
import { LongFilesFirst } from './test/run/long-files-first.ts'
import { SlowestFiles } from './test/slowest-files.ts'

/** A test that names one of these opens a database, a socket, a process or a folder, itself or in a file of test/ that it imports. */
const OPENS =
  /openTestApp|openStore|openSqlite|openWriter|createContext|DatabaseSync|mkdtemp|child_process|worker_threads|node:(?:net|tls|http)'|listen\(/

const tests = globSync('test/**/*.test.ts')
const unit = tests.filter((file) => !reaches(file, (_path, text) => OPENS.test(text)))

/** Tests of the program from outside: those that start it, and those of browsers, proxies, packages and examples. */
const PROGRAM = 'test/process/tabbat.ts'
const OUTSIDE = /^test\/(?:process|cluster|package|examples|console|deploy)\//
const system = tests.filter(
  (file) => !unit.includes(file) && (OUTSIDE.test(file) || reaches(file, (path) => path === PROGRAM)),
)

/** Whether this holds for a file, or for a file of test/ that it imports, types left out. */
function reaches(
  file: string,
  holds: (path: string, text: string) => boolean,
  seen = new Set<string>(),
): boolean {
  if (seen.has(file)) return false
  seen.add(file)
  const text = readFileSync(file, 'utf8')
  const imported = [...text.matchAll(/^import (?!type )[^']*from '(\.[^']+\.ts)'/gm)].map(([, path = '']) =>
    join(dirname(file), path),
  )
  return holds(file, text) || imported.some((path) => path.startsWith('test/') && reaches(path, holds, seen))
}

const shared = {
  // Many tests wait for disks, sockets and processes: four at once are done sooner, also on two cores.
  maxWorkers: 4,
  // A worker runs many files, and loads the modules of the product once.
  isolate: false,
  // Node.js loads the files itself, as those of the product.
  experimental: { viteModuleRunner: false, nodeLoader: false },
  // These end a test that hangs. Whatever waits waits for an event, which may take its time on a busy machine.
  testTimeout: 300_000,
  hookTimeout: 300_000,
  expect: { poll: { timeout: 120_000 } },
}

/** Of each project, because Vitest loads those of the root besides. */
const setupFiles = ['test/run/watchdog.ts']

/** For tests that open databases or start the program. */
const opening = {
  globalSetup: ['test/run/temporary-folder.ts', 'test/postgres.ts', 'test/program.ts'],
  setupFiles: [...setupFiles, 'test/bundled-program.ts'],
}

export default defineConfig({
  test: {
    ...shared,
    reporters: ['default', new SlowestFiles()],
    sequence: { sequencer: LongFilesFirst },
    projects: [
      {
        test: {
          ...shared,
          // These only compute. Each worker compiles what it loads: two need a fifth less processor time than four.
          maxWorkers: 2,
          setupFiles,
          name: 'unit',
          include: unit,
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          ...shared,
          name: 'whole',
          include: tests.filter((file) => !unit.includes(file) && !system.includes(file)),
          ...opening,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          ...shared,
          name: 'system',
          include: system,
          ...opening,
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
})
