import { parentPort, workerData } from 'node:worker_threads'
import { type CheckpointFile, findCheckpointFile } from '../audit/verify-file.ts'
import { verifyStore } from '../audit/verify-store.ts'
import { Refusal } from '../errors.ts'
import { openStore } from '../store/store.ts'
import type { CheckNews, CheckOrder } from './chain-check.ts'

const { store: options, publicKey, file: path } = workerData as CheckOrder

const WITHOUT_FILE = `There is no checkpoint in ${path}, so whether the end of the log was cut off could not be seen.`

const tell = (news: CheckNews) => parentPort?.postMessage(news)

/** Before the database is looked at, which has all that is in the file by then. */
function findFile(): CheckpointFile | undefined {
  try {
    return findCheckpointFile(path)
  } catch {
    return undefined
  }
}

async function check(): Promise<CheckNews> {
  const file = findFile()
  const store = await openStore(options)
  try {
    const onProgress = (rows: number, total: number) => tell({ rows, total })
    const verdict = await verifyStore(store, { publicKey, file, onProgress })
    return { verdict, note: verdict.file.checkpoints === 0 ? WITHOUT_FILE : undefined }
  } finally {
    await store.close()
  }
}

tell(
  await check().catch((error: unknown) => {
    if (error instanceof Refusal) return { refusal: error.message }
    throw error
  }),
)
