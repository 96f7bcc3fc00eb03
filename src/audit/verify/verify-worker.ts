import { parentPort, workerData } from 'node:worker_threads'
import { openRowPages, type PageSource } from '../../database/page-source.ts'
import { createStretchCheck, type Stretch } from './stretch-check.ts'

const checkStretch = openRowPages(workerData as PageSource).then((pages) => createStretchCheck(pages))
let last: Promise<void> = Promise.resolve()

async function check(stretch: Stretch): Promise<void> {
  parentPort?.postMessage((await (await checkStretch)(stretch)) ?? null)
}

/** One after the other, in order. A failure ends the thread, and the caller gets it as the error event. */
parentPort?.on('message', (stretch: Stretch) => {
  last = last.then(() => check(stretch))
})
