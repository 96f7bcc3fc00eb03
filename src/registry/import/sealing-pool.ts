import type { KeyObject } from 'node:crypto'
import { getCompileCacheDir } from 'node:module'
import { dirname } from 'node:path'
import { openWorkerThread } from '../../assets/worker-thread.ts'
import type { Keyring } from '../../crypto/keyring.ts'
import type { PackedChunk, SealerOptions } from './seal-chunk.ts'

/** Threads that read, check and seal chunks. */
export type SealingPool = {
  readonly seal: (chunk: Uint8Array<ArrayBuffer>) => Promise<PackedChunk>
  readonly close: () => Promise<void>
}

export type SealingData = {
  readonly keys: WorkerKeys
  readonly options: SealerOptions
}

/** The keys in a form that can be sent to a thread; they never leave the memory of the process. */
type WorkerKeys = Omit<Keyring, 'sealing'> & { readonly sealingKey: KeyObject }

/** A small young generation, so that garbage is collected early and the memory stays small. */
const YOUNG_MB = 16

type Waiting = ReturnType<typeof Promise.withResolvers<PackedChunk>>

export function openSealingPool(keyring: Keyring, options: SealerOptions, size: number): SealingPool {
  const threads = Array.from({ length: size }, () => openSealingThread(toWorkerKeys(keyring), options))
  let next = 0
  return {
    seal: (chunk) => {
      const thread = threads[next++ % size] as SealingThread
      return thread.seal(chunk)
    },
    close: async () => {
      await Promise.all(threads.map((thread) => thread.close()))
    },
  }
}

type SealingThread = SealingPool

function openSealingThread(keys: WorkerKeys, options: SealerOptions): SealingThread {
  const workerData: SealingData = { keys, options }
  const cache = getCompileCacheDir()
  const worker = openWorkerThread('sealing', {
    workerData,
    // Without the compile cache, a thread takes twice as long and 20 MB more to start.
    env: cache === undefined ? {} : { NODE_COMPILE_CACHE: dirname(cache) },
    resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB },
  })
  // A thread answers in the order of the requests.
  const waiting: Waiting[] = []
  const failAll = (error: unknown) => {
    for (const { reject } of waiting.splice(0)) reject(error)
  }
  worker
    .on('message', (answer: PackedChunk) => waiting.shift()?.resolve(answer))
    .on('error', failAll)
    .on('exit', () => failAll(new Error('a sealing thread ended')))
  return {
    seal: (chunk) => {
      const request: Waiting = Promise.withResolvers<PackedChunk>()
      // The caller gets the failure; this avoids an unhandled rejection after the caller has stopped waiting.
      request.promise.catch(() => {})
      waiting.push(request)
      worker.postMessage(chunk, [chunk.buffer])
      return request.promise
    },
    close: async () => {
      await worker.terminate()
    },
  }
}

function toWorkerKeys(keyring: Keyring): WorkerKeys {
  const { sealing, ...keys } = keyring
  const sealingKey = sealing(keyring.version)
  if (!sealingKey) throw new Error('the keyring lacks the key that seals')
  return { ...keys, sealingKey }
}
