import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import threads, { type WorkerOptions } from 'node:worker_threads'
import { inject } from 'vitest'
import { WORKER_THREADS } from '../src/assets/worker-thread.ts'
import { TABBAT } from './process/tabbat.ts'
import { SharedWriter } from './run/shared-writers.ts'

// Vitest loads this before each test file: commands and worker threads of the product are those of the bundle.
const program = inject('program')
TABBAT.file = join(program, 'bin/tabbat')

/** From the file of a worker thread in the checkout to its bundle. */
const bundles = new Map(
  Object.entries(WORKER_THREADS).map(([name, file]) => [
    pathToFileURL(file).href,
    pathToFileURL(join(program, 'dist', `worker-${name}.js`)),
  ]),
)

const WRITER = pathToFileURL(WORKER_THREADS['sqlite-writer']).href

/** Once in a process, which runs many test files. */
const KEY = Symbol.for('tabbat.bundled-threads')
const shared = globalThis as { [KEY]?: true }
if (!shared[KEY]) {
  shared[KEY] = true
  const { Worker } = threads
  threads.Worker = new Proxy(Worker, {
    construct: (_, [file, options]: [file: string | URL, options?: WorkerOptions]) =>
      String(file) === WRITER
        ? new SharedWriter(options?.workerData)
        : new Worker(bundles.get(String(file)) ?? file, options),
  })
  syncBuiltinESMExports()
}
