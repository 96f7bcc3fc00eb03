import { parentPort, workerData } from 'node:worker_threads'
import { findArchivesOf } from '../audit/archive/whole-log.ts'
import { type CheckpointFile, findCheckpointFile } from '../audit/checkpoint-file.ts'
import { verifyStore } from '../audit/verify/verify-store.ts'
import { openDatabase } from '../database/open-database.ts'
import { UserError } from '../errors.ts'
import { type CheckInput, type CheckMessage, UPLOADED } from './chain-check.ts'

const { store: options, publicKey, folder, uploaded, archiveDir } = workerData as CheckInput

const send = (message: CheckMessage) => parentPort?.postMessage(message)

/** Read before the database: each checkpoint is written to the database first, so none can be missing there. */
function findFile(): CheckpointFile | undefined {
  if (uploaded !== undefined) return findCheckpointFile(uploaded, UPLOADED)
  try {
    return findCheckpointFile(folder)
  } catch {
    return undefined
  }
}

async function check(): Promise<CheckMessage> {
  const file = findFile()
  const store = await openDatabase(options)
  try {
    const onProgress = (rows: number, total: number) => send({ rows, total })
    // The other processors are for requests.
    const archives = findArchivesOf(archiveDir)
    const verdict = await verifyStore(store, { publicKey, file, archives, onProgress, threads: 1 })
    if (uploaded !== undefined && verdict.sound && verdict.file.checkpoints === 0)
      throw new UserError(`There is no checkpoint in ${UPLOADED}. Upload a checkpoints.log, not compressed.`)
    return { verdict }
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
