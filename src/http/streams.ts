import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Exchange } from './exchange.ts'

/** Responses that are sent piece by piece. */
export function createStreams(
  onFailure: (exchange: Exchange, thrown: unknown) => void,
  isStopping: () => boolean,
) {
  const open = new Set<ServerResponse>()
  return {
    send: (exchange: Exchange, status: number, head: string[], pieces: AsyncIterable<string>): void => {
      const { raw, response } = exchange
      if (isStopping() && exchange.isLatest) head.push('connection', 'close')
      response.writeHead(status, head)
      // The response to HEAD has no body, so nothing would slow the pieces down.
      if (raw.method === 'HEAD') {
        response.end()
        return
      }
      open.add(response)
      pipeline(Readable.from(pieces, { objectMode: false }), response)
        .then(() => {
          // The head was sent before the signal to stop and did not say that the connection ends.
          if (isStopping() && exchange.isLatest) raw.socket.destroySoon()
        })
        .catch((thrown) => {
          // Too late for an error response; the failure is logged.
          if (!isDisconnect(thrown)) onFailure(exchange, thrown)
        })
        .finally(() => open.delete(response))
    },
    cut: (): void => {
      for (const response of open) response.destroy()
    },
  }
}

/** A caller that disconnects in the middle is no failure. */
const isDisconnect = (thrown: unknown) =>
  ['ERR_STREAM_PREMATURE_CLOSE', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT'].includes(
    String((thrown as NodeJS.ErrnoException).code),
  )
