import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createClient } from './client.ts'

/**
 * A bare server in a process of its own, asked all the time beside the real one. It has nothing that can grow: if its times get
 * longer, the machine has less time for everyone.
 */
export type Control = {
  /** The times since the last call, in ms. */
  readonly takeTimes: () => number[]
  readonly close: () => void
}

const ASK_EVERY_MS = 25

export async function startControl(): Promise<Control> {
  const child: ChildProcess = fork(import.meta.filename)
  const [port] = (await once(child, 'message')) as [number]
  const client = createClient(32)
  const times: number[] = []
  const ask = async () => {
    const askedAt = performance.now()
    await client.get(`http://127.0.0.1:${port}/`)
    times.push(performance.now() - askedAt)
  }
  const timer = setInterval(() => void ask().catch(() => {}), ASK_EVERY_MS)
  return {
    takeTimes: () => times.splice(0),
    close: () => {
      clearInterval(timer)
      client.close()
      child.kill()
    },
  }
}

if (import.meta.main) {
  const server = createServer((_request, response) => void response.end('ok'))
  server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port))
  process.on('disconnect', () => process.exit())
}
