import type { Exchange, Reply } from './exchange.ts'
import type { Hooks } from './hooks.ts'
import { sendPrepared, sendWhole } from './send-whole.ts'
import { createStreams } from './streams.ts'

/** Sends responses, whole or piece by piece. */
type Sender = {
  readonly send: (exchange: Exchange, reply: Reply) => void
  /** Breaks off the responses that are sent piece by piece. */
  readonly cutStreams: () => void
}

export function createSender({ toErrorReply, onWorkDone, isStopping }: Hooks): Sender {
  const streams = createStreams(toErrorReply, isStopping)
  const writeReply = (exchange: Exchange, reply: Reply) => {
    if (reply.headText !== undefined && !isStopping() && sendPrepared(exchange, reply.headText, reply)) return
    const { status, headers, body } = reply
    const head = exchange.responseHeaders.concat(headers as string[])
    if (typeof body === 'string' || Buffer.isBuffer(body))
      sendWhole(exchange, status, head, body, isStopping())
    else streams.send(exchange, status, head, body)
  }
  const write = (exchange: Exchange, reply: Reply) => {
    const { response, responseHeaders } = exchange
    if (response.headersSent || response.destroyed) return
    try {
      writeReply(exchange, reply)
    } catch (thrown) {
      const failure = toErrorReply(exchange, thrown)
      if (response.headersSent) return void response.destroy()
      // Node.js refuses to send one of the headers, so all but the request id are dropped.
      responseHeaders.length = 2
      writeReply(exchange, failure)
    }
  }
  return {
    send: (exchange, reply) => {
      onWorkDone?.(exchange)
      // A server that stops first looks whether the bytes that it has read hold another request.
      if (isStopping()) setImmediate(write, exchange, reply)
      else write(exchange, reply)
    },
    cutStreams: streams.cut,
  }
}
