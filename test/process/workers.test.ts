import { describe, expect, it } from 'vitest'
import { SANDBOX_KEY } from '../../src/keys/sandbox-key.ts'
import { createClient } from '../battery/client.ts'
import { newDataDir, startServer, tabbat } from './tabbat.ts'

/** The processes that this one has started. */
async function childrenOf(pid: number | undefined): Promise<number[]> {
  const { execFileSync } = await import('node:child_process')
  const list = execFileSync('ps', ['-A', '-o', 'pid=,ppid=']).toString().trim().split('\n')
  return list
    .map((line) => line.trim().split(/\s+/).map(Number))
    .flatMap(([child = 0, parent]) => (parent === pid ? [child] : []))
}

describe('TABBAT_WORKERS=2', () => {
  it('answers from two processes, and loses nothing when it stops', async () => {
    const settings = { TABBAT_DATA_DIR: newDataDir(), TABBAT_WORKERS: '2', TABBAT_LOG_LEVEL: 'silent' }
    const server = await startServer(settings)
    const workers = () => childrenOf(server.child.pid)
    await expect.poll(async () => (await workers()).length, { timeout: 10_000 }).toBe(2)
    const client = createClient(16)
    const ask = (index: number) =>
      client.post(
        `${server.url}/api/v2/kyc/verify-nin`,
        { nin: String(20_000_000_000 + index), phone: '08031234567' },
        { authorization: `Bearer ${SANDBOX_KEY}` },
      )
    const answers = await Promise.all(Array.from({ length: 64 }, (_each, index) => ask(index)))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
    // The first worker adds up what all have counted.
    const metrics = await client.get(/metrics +(\S+)/.exec(server.banner)?.[1] ?? '')
    expect(metrics.body).toContain(
      'tabbat_requests_total{operation="verify_nin",mode="test",outcome="verified"} 64',
    )
    client.close()
    expect(await server.stop()).toBe(0)
    const { code, stdout } = await tabbat(settings, 'audit', 'verify', '--json')
    expect(code).toBe(0)
    expect(JSON.stringify(JSON.parse(stdout))).toContain('128')
  })

  it('says once why it cannot start, and ends', async () => {
    const { code, stderr } = await tabbat(
      {
        TABBAT_DATA_DIR: 'package.json/data',
        TABBAT_WORKERS: '2',
        TABBAT_PORT: '0',
        TABBAT_ADMIN_PORT: 'off',
      },
      'serve',
    )
    expect(code).toBe(1)
    expect(stderr).toContain('error:')
  })
})
