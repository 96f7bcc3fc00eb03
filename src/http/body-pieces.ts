import { AppError } from '../errors.ts'
import { hasBody, tooSlow } from './body.ts'
import type { Exchange } from './exchange.ts'

/** Bytes that are received ahead of their use: the time limit of a body must not run while earlier rows are written. */
const MOST_AHEAD = 16 * 1024 * 1024

/** The body of a request piece by piece. Throws if it does not arrive whole. */
export async function* readBodyPieces(exchange: Exchange): AsyncGenerator<Buffer> {
  const { raw } = exchange
  if (!hasBody(raw)) return
  const pieces: Buffer[] = []
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
      ahead += piece.length
      if (ahead >= MOST_AHEAD) raw.pause()
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
      const piece = pieces.shift()
      if (piece) {
        ahead -= piece.length
        yield piece
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
