import { setImmediate as nextTurn } from 'node:timers/promises'
import { AppError } from '../errors.ts'
import { hasBody, tooSlow } from './body.ts'
import type { Exchange } from './exchange.ts'

/** Bytes that are received ahead of their use: the time limit of a body must not run while earlier rows are written. */
const MAX_AHEAD = 16 * 1024 * 1024
/** What a piece takes beside its bytes. A caller may send pieces of one byte. */
const PIECE_BYTES = 128
/** Pieces are joined and split to about this: thousands of very short rows, which take some milliseconds. */
const JOINED_BYTES = 16 * 1024

/** The body of a request piece by piece. Throws if it does not arrive whole. */
export async function* readBodyPieces(exchange: Exchange): AsyncGenerator<Buffer> {
  const { raw } = exchange
  if (!hasBody(raw)) return
  let pieces: Buffer[] = []
  let ahead = 0
  let end: 'whole' | AppError | undefined
  let wake = () => {}
  const onEnd = (how: 'whole' | AppError) => {
    end ??= how
    wake()
  }
  const listeners = {
    data: (piece: Buffer) => {
      pieces.push(piece)
      ahead += piece.length + PIECE_BYTES
      if (ahead >= MAX_AHEAD) raw.pause()
      wake()
    },
    end: () => onEnd('whole'),
    // Emitted by connections.ts when the body is too slow.
    timeout: () => onEnd(tooSlow()),
    error: () => onEnd(new AppError('malformed_request')),
    close: () => onEnd(new AppError('malformed_request')),
  }
  for (const [name, listener] of Object.entries(listeners)) raw.on(name, listener)
  if (exchange.awaitsContinue) exchange.sendContinue()
  try {
    for (;;) {
      if (pieces.length > 0) {
        const received = pieces
        pieces = []
        ahead = 0
        yield* joinInTurns(received)
      } else if (end === 'whole') return
      else if (end) throw end
      else
        await new Promise<void>((resolve) => {
          wake = resolve
          raw.resume()
        })
    }
  } finally {
    for (const [name, listener] of Object.entries(listeners)) raw.off(name, listener)
  }
}

/**
 * Pieces of a few bytes each would cost more than their rows. After each there is a turn of the event loop for other requests:
 * a body may consist of very many rows, or of empty lines.
 */
async function* joinInTurns(pieces: readonly Buffer[]): AsyncGenerator<Buffer> {
  for (let [start, end] = [0, 0]; start < pieces.length; start = end) {
    let length = 0
    while (end < pieces.length && length < JOINED_BYTES) length += (pieces[end++] as Buffer).length
    const joined = end - start === 1 ? (pieces[start] as Buffer) : Buffer.concat(pieces.slice(start, end))
    for (let at = 0; at < length; at += JOINED_BYTES) {
      yield joined.subarray(at, at + JOINED_BYTES)
      await nextTurn()
    }
  }
}
