import { parentPort, workerData } from 'node:worker_threads'
import { findArchives } from '../audit/archive/search-archives.ts'
import { type CheckpointFile, findCheckpointFile } from '../audit/checkpoint-file.ts'
import { verifyStore } from '../audit/verify-store.ts'
import { UserError } from '../errors.ts'
import { openStore } from '../store/store.ts'
import type { CheckInput, CheckMessage } from './chain-check.ts'

const { store: options, publicKey, file: path, archiveDir } = workerData as CheckInput

const send = (message: CheckMessage) => parentPort?.postMessage(message)

/** Read before the database: each checkpoint is written to the database first, so none can be missing there. */
function findFile(): CheckpointFile | undefined {
  try {
    return findCheckpointFile(path)
  } catch {
    return undefined
  }
}

async function check(): Promise<CheckMessage> {
  const file = findFile()
  const store = await openStore(options)
  try {
    const onProgress = (rows: number, total: number) => send({ rows, total })
    // The other processors are for requests.
    const archives = archiveDir === undefined ? [] : findArchives([archiveDir])
    return { verdict: await verifyStore(store, { publicKey, file, archives, onProgress, threads: 1 }) }
  } finally {
    await store.close()
  }
}

async function run(): Promise<void> {
  send(
    await check().catch((error: unknown) => {
      if (error instanceof UserError) return { problem: error.message }
      throw error
    }),
  )
}

void run()
