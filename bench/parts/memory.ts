import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { buildBundle } from '../bundle.ts'
import { load } from '../load/generator.ts'
import { type RequestSpec, sendOnce } from '../load/request-spec.ts'
import { readMemoryBytes } from '../processes.ts'
import type { Server } from '../servers/server.ts'
import { CONNECTIONS, LOOKUPS, startTabbat, VERIFICATIONS } from '../servers/tabbat.ts'
import type { Bench, Memory } from './part.ts'

const REQUESTS = 200_000
const IDLE_CONNECTIONS = 5000
/** Files that a process needs besides its connections. */
const OTHER_FILES = 200
const AT_ONCE = 100

/** Resident memory of one server: idle, after many requests, and with many idle connections. */
export async function measureMemory(bench: Bench): Promise<Memory> {
  const dataDir = join(bench.folder, 'memory')
  const checkoutIdle = await measureIdle(await startTabbat({ dataDir }))
  const main = buildBundle()
  const idle = await measureIdle(await startTabbat({ dataDir, main }))
  const server = await startTabbat({ dataDir, main })
  try {
    const requests = await work(server, bench)
    const worked = await readAtRest(server)
    const count = countConnections(bench)
    const sockets = await openConnections(server, count)
    const held = await readAtRest(server)
    for (const socket of sockets) socket.destroy()
    return {
      idleMb: idle / 2 ** 20,
      checkoutIdleMb: checkoutIdle / 2 ** 20,
      requests,
      afterRequestsMb: worked / 2 ** 20,
      connections: count,
      perConnectionKb: (held - worked) / count / 1024,
    }
  } finally {
    await server.stop()
  }
}

/** The second start of the checkout finds its code compiled. */
async function measureIdle(server: Server): Promise<number> {
  try {
    await wait(2000)
    return readMemoryBytes(server.pid)
  } finally {
    await server.stop()
  }
}

async function readAtRest(server: Server): Promise<number> {
  await wait(1000)
  return readMemoryBytes(server.pid)
}

/** Three look-ups for one verification, because verifications take longer. */
async function work(server: Server, { options }: Bench): Promise<number> {
  const run = async (spec: RequestSpec, wanted: number) => {
    let done = 0
    while (done < wanted) {
      const plan = {
        port: server.port,
        spec,
        connections: CONNECTIONS[spec.method],
        seconds: options.seconds,
      }
      const { requests } = await load(plan)
      if (requests === 0) throw new Error('The server answers nothing.')
      done += requests
    }
    return done
  }
  const looked = await run(LOOKUPS['list-internet-bundles'], REQUESTS * 0.75)
  return looked + (await run(VERIFICATIONS['verify-nin'], REQUESTS - looked))
}

function countConnections({ note }: Bench): number {
  const limit = execFileSync('sh', ['-c', 'ulimit -Hn'], { encoding: 'utf8' }).trim()
  const most = limit === 'unlimited' ? Number.POSITIVE_INFINITY : Number(limit) - OTHER_FILES
  if (most >= IDLE_CONNECTIONS) return IDLE_CONNECTIONS
  note(`Only ${most} idle connections instead of ${IDLE_CONNECTIONS}: ulimit -n is ${limit}.`)
  return most
}

/** Each has sent one request and stays open. */
async function openConnections({ port }: Server, count: number): Promise<Socket[]> {
  const { path, key } = LOOKUPS['list-sme-bundles']
  const request = `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${key}\r\n\r\n`
  const open = async () => {
    const socket = connect(port, '127.0.0.1')
    socket.write(request)
    await once(socket, 'data')
    return socket.resume()
  }
  const sockets: Socket[] = []
  while (sockets.length < count)
    sockets.push(
      ...(await Promise.all(Array.from({ length: Math.min(AT_ONCE, count - sockets.length) }, open))),
    )
  await sendOnce(port, LOOKUPS['list-sme-bundles'])
  return sockets
}
