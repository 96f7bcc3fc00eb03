import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SANDBOX_KEY } from '../../src/keys/sandbox-key.ts'
import { newDataDir, type RunningServer, startServer, tabbat } from './tabbat.ts'

const dataDir = newDataDir()
const steppedFile = join(dataDir, 'stepped')
const settings = { TABBAT_DATA_DIR: dataDir, TABBAT_LOG_LEVEL: 'silent', TABBAT_RATE_LIMIT: '100' }
let server: RunningServer

beforeAll(async () => {
  server = await startServer({
    ...settings,
    NODE_OPTIONS: `--import=${new URL('./stepping-clock.ts', import.meta.url).pathname}`,
    STEPPED_FILE: steppedFile,
  })
})
afterAll(() => server.stop())

async function create(...options: string[]): Promise<{ readonly key: string; readonly id: string }> {
  const args = ['keys', 'create', '--name', 'shop', '--mode', 'test', '--json', ...options]
  return JSON.parse((await tabbat(settings, ...args)).stdout)
}

const fetchList = (key: string) =>
  fetch(`${server.url}/api/v2/sme-data/list`, { headers: { authorization: `Bearer ${key}` } })

async function setClockBack(): Promise<void> {
  rmSync(steppedFile, { force: true })
  server.child.kill('SIGUSR2')
  await expect.poll(() => existsSync(steppedFile)).toBe(true)
}

describe('a wall clock that is set back by a day', () => {
  it('does not keep a revoked key alive', async () => {
    const { key, id } = await create()
    expect((await fetchList(key)).status).toBe(200)
    await setClockBack()
    expect((await tabbat(settings, 'keys', 'revoke', id)).code).toBe(0)
    await expect.poll(async () => (await fetchList(key)).status).toBe(401)
  })

  it('does not make a caller wait longer than the minute of the rate limit', async () => {
    const { key } = await create()
    const first = await fetchList(key)
    await setClockBack()
    let last = first
    while (last.status === 200) last = await fetchList(key)
    expect(last.status).toBe(429)
    expect(Number(last.headers.get('retry-after'))).toBeLessThanOrEqual(60)
  })

  it('keeps references and the audit log in order', async () => {
    const verify = async () => {
      const response = await fetch(`${server.url}/api/v2/kyc/verify-nin`, {
        method: 'POST',
        headers: { authorization: `Bearer ${SANDBOX_KEY}`, 'content-type': 'application/json' },
        body: JSON.stringify({ nin: '12345678901', phone: '08031234567' }),
      })
      return ((await response.json()) as { data: { request_reference: string } }).data.request_reference
    }
    const before = await verify()
    await setClockBack()
    expect((await verify()) > before).toBe(true)
    const { code, stdout } = await tabbat(settings, 'audit', 'export')
    const rows = stdout
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as { chain: string; time: string })
    expect([code, rows.length > 3]).toEqual([0, true])
    for (const chain of Map.groupBy(rows, (row) => row.chain).values()) {
      const times = chain.map(({ time }) => time)
      expect(times).toEqual(times.toSorted())
    }
    expect((await tabbat(settings, 'audit', 'verify')).code).toBe(0)
  })

  it('does not bring an expired key back', async () => {
    const { key } = await create('--expires', '1s')
    await expect.poll(async () => (await fetchList(key)).status).toBe(401)
    await setClockBack()
    expect((await fetchList(key)).status).toBe(401)
  })
})
