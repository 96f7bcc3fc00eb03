import { parentPort, workerData } from 'node:worker_threads'
import type { Keyring } from '../../crypto/keyring.ts'
import { createChunkSealer } from './seal-chunk.ts'
import type { SealingData } from './sealing-pool.ts'

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
