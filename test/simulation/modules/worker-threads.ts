import { threads } from '../threads.ts'

export { Worker } from '../threads.ts'

/** Of the thread whose module imports this one. */
const own = threads.get(new URL(import.meta.url).search)

export const parentPort = own?.parentPort ?? null
export const workerData = own?.workerData
export const isMainThread = own === undefined
