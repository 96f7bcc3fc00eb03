import { parentPort, workerData } from 'node:worker_threads'
import { openRowPages, type PageSource } from '../store/page-source.ts'
import { checkStretch, type Stretch } from './verify-segments.ts'

const pages = openRowPages(workerData as PageSource)
let last: Promise<void> = Promise.resolve()

async function check(stretch: Stretch): Promise<void> {
  parentPort?.postMessage((await checkStretch(await pages, stretch)) ?? null)
}

/** One after the other, in order. A failure ends the thread, and the caller gets it as the error event. */
parentPort?.on('message', (stretch: Stretch) => {
  last = last.then(() => check(stretch))
})
