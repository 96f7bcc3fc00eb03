import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import threads, { Worker, type WorkerOptions } from 'node:worker_threads'
import { inject } from 'vitest'
import { WORKER_THREADS } from '../src/assets/worker-thread.ts'
import { TABBAT } from './process/tabbat.ts'

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

class BundledWorker extends Worker {
  constructor(file: string | URL, options?: WorkerOptions) {
    super(bundles.get(String(file)) ?? file, options)
  }
}

if (threads.Worker.name !== BundledWorker.name) {
  threads.Worker = BundledWorker
  syncBuiltinESMExports()
}
