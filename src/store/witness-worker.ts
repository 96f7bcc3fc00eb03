import { parentPort, workerData } from 'node:worker_threads'
import type { Checkpoint } from './audit-table.ts'
import { openWitnessFile, type WitnessFile } from './witness-file.ts'

export type WitnessWorkerData = { readonly path: string }
/** Null: durable. Else the code of the error. */
export type WitnessReply = { readonly failure: string | null }

/** A file that cannot be opened is tried again with the next checkpoints. */
let file: WitnessFile | undefined

parentPort?.on('message', (checkpoints: readonly Checkpoint[]) => {
  parentPort?.postMessage({ failure: append(checkpoints) } satisfies WitnessReply)
})

function append(checkpoints: readonly Checkpoint[]): string | null {
  try {
    file ??= openWitnessFile((workerData as WitnessWorkerData).path)
    file.append(checkpoints)
    return null
  } catch (error) {
    close()
    const { code = 'failed', errcode } = error as { code?: string; errcode?: number }
    return errcode === undefined ? code : `${code} ${errcode}`
  }
}

function close(): void {
  try {
    file?.close()
  } catch {}
  file = undefined
}
