import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Exchange } from './exchange.ts'

/** Answers that are sent piece by piece. */
export function createStreams(fail: (exchange: Exchange, thrown: unknown) => void) {
  const open = new Set<ServerResponse>()
  return {
    send: (exchange: Exchange, pieces: AsyncIterable<string>): void => {
      const { raw, response } = exchange
      // Nothing would hold the pieces back: they would all be made at once, and not sent.
      if (raw.method === 'HEAD') {
        response.end()
        return
      }
      open.add(response)
      pipeline(Readable.from(pieces, { objectMode: false }), response)
        .catch((thrown) => {
          // It is too late for an answer, and not for the log.
          if (!isGone(thrown)) fail(exchange, thrown)
        })
        .finally(() => open.delete(response))
    },
    cut: (): void => {
      for (const response of open) response.destroy()
    },
  }
}

/** A caller that leaves in the middle has read enough. */
const isGone = (thrown: unknown) =>
  ['ERR_STREAM_PREMATURE_CLOSE', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT'].includes(
    String((thrown as NodeJS.ErrnoException).code),
  )
