import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A proxy between a store and PostgreSQL that can lose the confirmation of a commit. */
type CuttingProxy = {
  /** The address of the same database through the proxy. */
  readonly url: string
  /** Cuts the connection after the next commit, before the client gets the confirmation. */
  readonly arm: () => void
  readonly cuts: () => number
  readonly close: () => Promise<void>
}

/** ReadyForQuery of the protocol, with the state "not in a transaction": the transaction is committed. */
const DONE = Buffer.from([0x5a, 0, 0, 0, 5, 0x49])

export async function openCuttingProxy(databaseUrl: string): Promise<CuttingProxy> {
  const target = new URL(databaseUrl)
  const sockets = new Set<Socket>()
  let armed = false
  let cuts = 0
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname)
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => {}).on('close', () => sockets.delete(socket))
    }
    const end = () => {
      client.destroy()
      upstream.destroy()
    }
    client.on('data', (bytes) => upstream.write(bytes)).on('close', end)
    upstream.on('close', end).on('data', (bytes) => {
      if (!armed || !bytes.includes(DONE)) return client.write(bytes)
      armed = false
      cuts += 1
      return end()
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: Object.assign(new URL(databaseUrl), { host: `127.0.0.1:${port}` }).href,
    arm: () => {
      armed = true
    },
    cuts: () => cuts,
    close: async () => {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
