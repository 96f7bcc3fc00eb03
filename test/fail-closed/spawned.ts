import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { createClient, type Reply } from '../battery/client.ts'
import { PHONE, type Place } from '../battery/place.ts'
import { TABBAT } from '../process/tabbat.ts'

/** `tabbat serve` in a process of its own, as a caller and an operator see it. */
export type Spawned = {
  readonly child: ChildProcess
  readonly pid: number
  readonly url: string
  /** The reply, or undefined without one. */
  readonly verifyNin: (nin: string, headers?: Record<string, string>) => Promise<Reply | undefined>
  /** A look-up with the live key. */
  readonly lookUp: () => Promise<Reply | undefined>
  readonly get: (path: string) => Promise<Reply | undefined>
  /** The exit code. */
  readonly ended: Promise<number | null>
  /** The log and the names of its events, after the process has ended. */
  readonly log: () => Promise<{ readonly text: string; readonly events: readonly string[] }>
  readonly stop: () => void
}

export async function startSpawned({ settings, keys }: Place, connections = 8): Promise<Spawned> {
  const child = spawn(TABBAT.file, ['serve'], {
    env: {
      PATH: process.env.PATH ?? '',
      TABBAT_PORT: '0',
      TABBAT_ADMIN_PORT: 'off',
      TABBAT_SHUTDOWN_DELAY: 'off',
      ...settings,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const log = text(child.stderr)
  const ended = once(child, 'exit').then(([code]) => code as number | null)
  const banner = await Promise.race([once(child.stdout, 'data'), ended])
  const url = /listening on +(\S+)/.exec(String(banner))?.[1] ?? ''
  const client = createClient(connections)
  const orNothing = (reply: Promise<Reply>) => reply.catch(() => undefined)
  return {
    child,
    pid: child.pid ?? 0,
    url,
    verifyNin: (nin, headers = {}) =>
      orNothing(
        client.post(
          `${url}/api/v2/kyc/verify-nin`,
          { nin, phone: PHONE },
          { authorization: keys.live, ...headers },
        ),
      ),
    lookUp: () => orNothing(client.get(`${url}/api/v2/sme-data/list`, { authorization: keys.live })),
    get: (path) => orNothing(client.get(`${url}${path}`)),
    ended,
    log: async () => {
      await ended
      const lines = (await log).trim().split('\n')
      const events = lines
        .filter((line) => line.startsWith('{'))
        .map((line) => String(JSON.parse(line).event))
      return { text: await log, events }
    },
    stop: () => {
      client.close()
      child.kill('SIGKILL')
    },
  }
}
