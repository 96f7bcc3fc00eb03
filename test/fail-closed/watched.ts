import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { SANDBOX_KEY } from '../../src/keys/sandbox-key.ts'
import { createClient, type Reply } from '../battery/client.ts'
import type { Settings } from '../process/tabbat.ts'

/** The server of watched-server.ts in a process of its own, as a caller and an operator see it. */
export type Watched = {
  readonly pid: number
  readonly settings: Settings
  readonly verifyNin: (nin: string, headers?: Record<string, string>) => Promise<Reply>
  readonly verifyBvn: (bvn: string, headers?: Record<string, string>) => Promise<Reply>
  readonly get: (path: string) => Promise<Reply>
  /** How often the source was called. */
  readonly calls: () => Promise<number>
  readonly stop: () => Promise<number | null>
}

export const PHONE = '08031234567'

export async function startWatched(settings: Settings): Promise<Watched> {
  const child = spawn(process.execPath, ['test/fail-closed/watched-server.ts'], {
    env: { PATH: process.env.PATH ?? '', TABBAT_LOG_LEVEL: 'silent', ...settings },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const { url, key } = await readFirstLine(child)
  const client = createClient(8)
  const post = (operation: string, payload: object, headers = {}) =>
    client.post(`${url}/api/v2/kyc/verify-${operation}`, payload, {
      authorization: `Bearer ${key}`,
      ...headers,
    })
  const get = (path: string) => client.get(`${url}${path}`, { authorization: SANDBOX_KEY })
  return {
    pid: child.pid ?? 0,
    settings,
    verifyNin: (nin, headers) => post('nin', { nin, phone: PHONE }, headers),
    verifyBvn: (bvn, headers) => post('bvn', { bvn, phone: PHONE, amount: '5' }, headers),
    get,
    calls: async () => Number((await get('/calls')).body),
    stop: async () => {
      client.close()
      const closed = once(child, 'exit')
      child.kill('SIGTERM')
      return (await closed)[0] as number | null
    },
  }
}

async function readFirstLine(child: ChildProcess): Promise<{ url: string; key: string }> {
  if (!child.stdout) throw new Error('there is no output')
  for await (const line of createInterface(child.stdout)) return JSON.parse(line)
  throw new Error('the server did not start')
}
