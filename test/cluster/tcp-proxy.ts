import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { Transform } from 'node:stream'

/** A network between a node and its database that can fail. */
export type TcpProxy = {
  readonly port: number
  /** `stall`: bytes stay where they are, in both directions. `refuse`: connections are cut, and new ones too. */
  readonly set: (mode: 'pass' | 'stall' | 'refuse') => void
  /** From now on, each answer of the target arrives later by this much. */
  readonly delay: (ms: number) => void
  readonly close: () => Promise<void>
}

export async function startTcpProxy(target: {
  readonly host: string
  readonly port: number
}): Promise<TcpProxy> {
  let mode: Parameters<TcpProxy['set']>[0] = 'pass'
  let delayMs = 0
  const toDelayed = () =>
    new Transform({ transform: (bytes, _encoding, done) => void setTimeout(done, delayMs, null, bytes) })
  const pairs = new Set<readonly [Socket, Socket]>()
  const apply = (pair: readonly [Socket, Socket]) => {
    const [near, far] = pair
    if (mode === 'stall') {
      for (const socket of pair) socket.unpipe().pause()
    } else if (mode === 'refuse' || near.destroyed || far.destroyed) {
      pairs.delete(pair)
      for (const socket of pair) socket.destroy()
    } else near.pipe(far).pipe(toDelayed()).pipe(near)
  }
  const server = createServer((near) => {
    const pair = [near, connect(target)] as const
    pairs.add(pair)
    // Across a stalled network, the end of a connection does not arrive either.
    for (const socket of pair)
      socket.on('error', () => {}).on('close', () => mode !== 'stall' && pairs.has(pair) && apply(pair))
    apply(pair)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const set = (next: typeof mode) => {
    mode = next
    for (const pair of pairs) apply(pair)
  }
  return {
    port: (server.address() as AddressInfo).port,
    set,
    delay: (ms) => {
      delayMs = ms
    },
    close: async () => {
      set('refuse')
      server.close()
      await once(server, 'close')
    },
  }
}
