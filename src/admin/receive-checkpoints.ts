import { createWriteStream } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { CHECKPOINT_FILE } from '../audit/checkpoint-folder.ts'
import { AdminError } from '../contract/admin-error.ts'
import { UserError } from '../errors.ts'
import { readBodyPieces } from '../http/body-pieces.ts'
import type { Exchange } from '../http/exchange.ts'

/** A checkpoints.log is rotated at 64 MB. */
const MOST_BYTES = 80 * 1024 * 1024

/** Writes an uploaded checkpoints.log to a folder of its own, and returns its path. */
export async function receiveCheckpoints(exchange: Exchange): Promise<string> {
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
