import { getCompileCacheDir } from 'node:module'
import { dirname } from 'node:path'
import { openWorkerThread } from '../../assets/worker-thread.ts'
import type { Keyring } from '../../crypto/keyring.ts'
import type { SealerOptions } from './seal-chunk.ts'
import type { PackedChunk, SealingData, WorkerKeys } from './sealing-worker.ts'

/** Threads that read, check and seal chunks. */
export type SealingPool = {
  readonly seal: (chunk: Uint8Array<ArrayBuffer>) => Promise<PackedChunk>
  readonly close: () => Promise<void>
}

/** What a thread throws away is collected early, so that its memory stays small. */
const YOUNG_MB = 16

type Waiting = ReturnType<typeof Promise.withResolvers<PackedChunk>>

export function openSealingPool(keyring: Keyring, options: SealerOptions, size: number): SealingPool {
  const members = Array.from({ length: size }, () => openMember(toWorkerKeys(keyring), options))
  let next = 0
  return {
    seal: (chunk) => {
      const member = members[next++ % size] as Member
      return member.seal(chunk)
    },
    close: async () => {
      await Promise.all(members.map((member) => member.close()))
    },
  }
}

type Member = SealingPool

function openMember(keys: WorkerKeys, options: SealerOptions): Member {
  const workerData: SealingData = { keys, options }
  const cache = getCompileCacheDir()
  const worker = openWorkerThread('sealing', {
    workerData,
    // Compiled sources are not shared by themselves: without them a thread takes twice as long and 20 MB more to start.
    env: cache === undefined ? {} : { NODE_COMPILE_CACHE: dirname(cache) },
    resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB },
  })
  // A thread answers in the order in which it was asked.
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
      const asked: Waiting = Promise.withResolvers<PackedChunk>()
      // Whoever waits hears of a failure; of what nobody waits for any more, nobody needs to.
      asked.promise.catch(() => {})
      waiting.push(asked)
      worker.postMessage(chunk, [chunk.buffer])
      return asked.promise
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
