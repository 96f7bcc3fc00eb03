import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A proxy between a store and PostgreSQL that counts the round trips. */
type CountingProxy = {
  /** The address of the same database through the proxy. */
  readonly url: string
  readonly count: () => RoundTrips
  readonly close: () => Promise<void>
}

type RoundTrips = {
  /** Replies after which the server waited for the next statement. */
  readonly all: number
  /** Those of them inside an open transaction. */
  readonly inTransaction: number
}

/** ReadyForQuery of the protocol: its length is 5, and its last byte is the state. */
const READY = 'Z'.charCodeAt(0)
const IDLE = 'I'.charCodeAt(0)

export async function openCountingProxy(databaseUrl: string): Promise<CountingProxy> {
  const target = new URL(databaseUrl)
  const sockets = new Set<Socket>()
  let all = 0
  let inTransaction = 0
  const onReady = (state: number) => {
    all += 1
    if (state !== IDLE) inTransaction += 1
  }
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname)
    const read = createReader(onReady)
    for (const socket of [client, upstream])
      socket.on('error', () => {}).on('close', () => sockets.delete(socket))
    sockets.add(client).add(upstream)
    client.on('data', (bytes) => upstream.write(bytes)).on('close', () => upstream.destroy())
    upstream
      .on('close', () => client.destroy())
      .on('data', (bytes) => {
        read(bytes)
        client.write(bytes)
      })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: Object.assign(new URL(databaseUrl), { host: `127.0.0.1:${port}` }).href,
    count: () => ({ all, inTransaction }),
    close: async () => {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

/** Messages of the server are a type, a length that includes itself, and a body. */
function createReader(onReady: (state: number) => void): (bytes: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0)
  return (bytes) => {
    rest = Buffer.concat([rest, bytes])
    while (rest.length >= 5) {
      const length = 1 + rest.readUInt32BE(1)
      if (rest.length < length) return
      if (rest[0] === READY) onReady(rest[5] ?? 0)
      rest = rest.subarray(length)
    }
  }
}
