import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { expect, it } from 'vitest'
import { SANDBOX_KEY } from '../../src/keys/sandbox-key.ts'
import { newDataDir, startServer, TABBAT, tabbat } from './tabbat.ts'

const OWN_ID = 'customer-12345678901'
const DASHED_ID = '-12345678901'

async function withInput(settings: Record<string, string>, input: string, ...args: string[]) {
  const env = { PATH: process.env.PATH ?? '', ...settings }
  const child = spawn(TABBAT.file, args, { env, stdio: ['pipe', 'pipe', 'inherit'] })
  child.stdin.end(`${input}\n`)
  return JSON.parse(await text(child.stdout))
}

it('tabbat requests finds what a caller quotes, and follows the log', async () => {
  const settings = { TABBAT_DATA_DIR: newDataDir() }
  const server = await startServer({ ...settings, TABBAT_LOG_LEVEL: 'silent' })
  const verify = (nin: string, headers = {}) =>
    fetch(`${server.url}/api/v2/kyc/verify-nin`, {
      method: 'POST',
      headers: { authorization: `Bearer ${SANDBOX_KEY}`, 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ nin, phone: '08031234567' }),
    })
  try {
    const tail = spawn(TABBAT.file, ['requests', 'tail', '--status', '5xx', '--json'], {
      env: { ...process.env, ...settings },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    // It has opened the database when it says which.
    await once(tail.stderr, 'data')
    await verify('1', { 'x-request-id': DASHED_ID })
    await verify('12345678901', { 'x-request-id': OWN_ID })
    const failed = await verify('00000000503')
    const id = failed.headers.get('x-request-id') ?? ''
    const { data } = (await failed.json()) as { data: { request_reference: string } }
    const [line] = await once(tail.stdout, 'data')
    expect(JSON.parse(String(line))).toMatchObject({
      request_id: id,
      status: 503,
      code: 'source_unavailable',
    })
    tail.kill()
    await once(tail, 'exit')

    const shown = await tabbat(settings, 'requests', 'show', id)
    expect(shown.stdout).toContain('status 503, code source_unavailable')
    expect(shown.stdout).toContain(`tabbat audit show ${data.request_reference}`)
    expect(shown.stdout).toContain('-H "Authorization: Bearer $TABBAT_KEY"')
    const found = await tabbat(settings, 'requests', 'show', data.request_reference, '--json')
    expect(JSON.parse(found.stdout)).toMatchObject([{ request_id: id }])
    const listed = await tabbat(settings, 'requests', 'list', '--code', 'validation_failed', '--since', '1h')
    expect(listed.stdout).toMatch(/422 +validation_failed +verify_nin +sandbox0/)
    const named = await tabbat(settings, 'requests', 'list', '--key', 'public sandbox key', '--json')
    expect(JSON.parse(named.stdout)).toHaveLength(3)
    for (const [option, text, message] of [
      ['--operation', 'nonsense', '--operation must be one of: verify_nin, '],
      ['--code', 'nonsense', '--code must be one that the API answers'],
      ['--key', 'public sandbox ke', '--key must be the name or the id of a key. See: tabbat keys list'],
    ] as const) {
      const wrong = await tabbat(settings, 'requests', 'list', option, text)
      expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringContaining(message)])
    }
    const timeline = await tabbat(settings, 'audit', 'show', data.request_reference)
    expect(timeline.stdout).toContain(id)

    const refused = await tabbat(settings, 'requests', 'show', OWN_ID)
    expect([refused.code, refused.stderr.includes(OWN_ID)]).toEqual([1, false])
    const own = await withInput(settings, OWN_ID, 'requests', 'list', '--id', '-', '--json')
    expect(own).toMatchObject([{ request_id: expect.stringMatching(/^own_/), status: 200 }])
    const dashed = await withInput(settings, DASHED_ID, 'requests', 'show', '-', '--json')
    expect(dashed).toMatchObject([{ status: 422 }])
    const empty = await tabbat(settings, 'requests', 'list', '--id', '-')
    expect([empty.code, empty.stderr]).toEqual([1, expect.stringContaining('No request_id was given')])
    const none = await tabbat(settings, 'requests', 'show', 'req_ab000000000000000000000000000000')
    expect([none.code, none.stderr]).toEqual([1, expect.stringContaining('has no such request')])
  } finally {
    await server.stop()
  }
})
