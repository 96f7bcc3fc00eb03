import { createWriteStream } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { CHECKPOINT_FILE } from '../audit/checkpoint-folder.ts'
import { AdminError } from '../contract/error.ts'
import { UserError } from '../errors.ts'
import { readBodyPieces } from '../http/body.ts'
import type { Exchange } from '../http/exchange.ts'
import { ChainCheck } from './chain-check.ts'
import { type AdminRoute, defineRoute } from './route.ts'

const tag = 'Audit'

const readCheck = defineRoute({
  name: 'read_chain_check',
  tag,
  method: 'GET',
  path: '/admin/audit/check',
  summary: 'Progress of the running verification of the log, or the result of the last one.',
  role: 'viewer',
  isBackground: true,
  output: ChainCheck,
  run: async ({ checks }) => checks.read(),
})

const startCheck = defineRoute({
  name: 'start_chain_check',
  tag,
  method: 'POST',
  path: '/admin/audit/check',
  summary: 'Verify the whole log against its checkpoints. One run at a time.',
  role: 'operator',
  output: ChainCheck,
  run: async ({ checks }, { actor }) => checks.start(actor),
})

const startUploadedCheck = defineRoute({
  name: 'start_chain_check_with_file',
  tag,
  method: 'POST',
  path: '/admin/audit/check/file',
  summary:
    'Verify the whole log against an uploaded checkpoints.log (application/x-ndjson, at most 80 MB, not compressed) that was kept elsewhere.',
  role: 'operator',
  isUpload: true,
  output: ChainCheck,
  run: async ({ checks }, { actor, exchange }) => {
    const path = await receiveCheckpoints(exchange)
    try {
      return checks.start(actor, path)
    } catch (error) {
      await rm(dirname(path), { recursive: true, force: true })
      throw error
    }
  },
})

export const AUDIT_CHECK_ROUTES: readonly AdminRoute[] = [readCheck, startCheck, startUploadedCheck]

/** A checkpoints.log is rotated at 64 MB. */
const MOST_BYTES = 80 * 1024 * 1024

/** Writes an uploaded checkpoints.log to a folder of its own, and returns its path. */
async function receiveCheckpoints(exchange: Exchange): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'tabbat-checkpoints-'))
  const path = join(folder, CHECKPOINT_FILE)
  try {
    await pipeline(checkPieces(readBodyPieces(exchange)), createWriteStream(path, { mode: 0o600 }))
    return path
  } catch (error) {
    await rm(folder, { recursive: true, force: true })
    throw error
  }
}

async function* checkPieces(pieces: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
  let received = 0
  for await (const piece of pieces) {
    // A compressed file may unpack to any size.
    if (received === 0 && piece[0] === 0x1f)
      throw new UserError('The file is compressed. Unpack it with gunzip, then upload it.')
    received += piece.length
    if (received > MOST_BYTES)
      throw new AdminError('body_too_large', { message: TOO_LARGE, headers: ['connection', 'close'] })
    yield piece
  }
}

const TOO_LARGE =
  'The file is larger than 80 MB. Run on the command line: tabbat audit verify --checkpoints FILE'
