import type { KeyObject } from 'node:crypto'
import { parentPort, workerData } from 'node:worker_threads'
import type { Keyring } from '../../crypto/keyring.ts'
import { createChunkSealer, type SealerOptions } from './seal-chunk.ts'

export type SealingData = {
  readonly keys: WorkerKeys
  readonly options: SealerOptions
}

/** The keys in a form that can be sent to a thread; they never leave the memory of the process. */
export type WorkerKeys = Omit<Keyring, 'sealing'> & { readonly sealingKey: KeyObject }

const { keys, options } = workerData as SealingData
const keyring: Keyring = {
  ...keys,
  sealing: (version) => (version === keys.version ? keys.sealingKey : undefined),
}
const sealChunk = createChunkSealer(keyring, options)

parentPort?.on('message', (chunk: Uint8Array<ArrayBuffer>) => {
  const answer = sealChunk(Buffer.from(chunk.buffer))
  // Frees the memory now; the garbage collector would let much of it accumulate first.
  chunk.buffer.transfer(0)
  parentPort?.postMessage(answer, [answer.packed.buffer])
})
