import { parentPort, workerData } from 'node:worker_threads'
import type { ScrubOrder, ScrubReport } from './scrub.ts'
import { runScrubPass } from './scrub-pass.ts'
import { openScrubTable } from './scrub-table.ts'

const { store, ...order } = workerData as ScrubOrder

async function run(): Promise<number> {
  const table = await openScrubTable(store)
  return runScrubPass(table, order).finally(table.close)
}

const report = (what: ScrubReport) => parentPort?.postMessage(what)

// Not awaited here: the single executable loads this file as CommonJS.
void run().then(
  (pieces) => report({ pieces }),
  ({ name = '', code = '', errcode = 0 }) => report({ failure: { name, code, errcode } }),
)
