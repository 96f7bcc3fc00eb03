import { connect, createServer, type Socket } from 'node:net'

/**
 * A TCP proxy that adds a delay to each direction, as a network between two machines does.
 * node bench/slow-proxy.ts <port> <target port> <milliseconds of a round trip>
 */
const [port, target, roundTripMs] = process.argv.slice(2).map(Number)
const delayMs = (roundTripMs ?? 0) / 2

/** In the order of arrival, which is the order of sending, because all wait equally long. */
type Piece = { readonly dueAt: number; readonly to: Socket; readonly bytes: Buffer | undefined }
const waiting: Piece[] = []
let first = 0

/** Spins instead of sleeping: a timer of Node.js is no finer than a millisecond. */
function deliver(): void {
  const now = performance.now()
  for (let piece = waiting[first]; piece && piece.dueAt <= now; piece = waiting[first]) {
    first += 1
    if (piece.to.destroyed) continue
    if (piece.bytes) piece.to.write(piece.bytes)
    else piece.to.end()
  }
  if (first === waiting.length) {
    waiting.length = 0
    first = 0
  } else setImmediate(deliver)
}

function pass(from: Socket, to: Socket): void {
  const add = (bytes: Buffer | undefined) => {
    waiting.push({ dueAt: performance.now() + delayMs, to, bytes })
    if (waiting.length === 1) setImmediate(deliver)
  }
  from.setNoDelay()
  from.on('data', add)
  from.on('end', () => add(undefined))
  from.on('error', () => to.destroy())
}

createServer({ allowHalfOpen: true }, (client) => {
  const server = connect({ port: target ?? 0, host: '127.0.0.1', allowHalfOpen: true })
  pass(client, server)
  pass(server, client)
}).listen(port, '127.0.0.1')
