import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SANDBOX_KEY } from '../../src/keys/sandbox-key.ts'
import { send } from '../admin/test-console.ts'
import { openTestApp, type TestApp } from '../app.ts'
import { readHttpFile } from './http-file.ts'
import { type Command, ENVIRONMENT, LANGUAGES } from './languages.ts'
import { startUnreliableProxy } from './unreliable-proxy.ts'

let server: TestApp
let url: string
beforeAll(async () => {
  server = await openTestApp()
  url = await server.app.listen({ host: '127.0.0.1', port: 0 })
})
afterAll(() => server.close())

const skipped = LANGUAGES.filter(({ missing }) => missing !== undefined)
if (skipped.length > 0)
  console.log(`Examples not run: ${skipped.map(({ name, missing }) => `${name} (${missing})`).join(', ')}.`)

type Ended = { readonly code: number; readonly stdout: string; readonly all: string }

const runCommand = ([program, ...args]: Command, env: Record<string, string>): Promise<Ended> =>
  new Promise((done) => {
    const child = execFile(program, args, { env: { ...ENVIRONMENT, ...env } }, (_error, stdout, stderr) =>
      done({ code: child.exitCode ?? -1, stdout, all: stdout + stderr }),
    )
  })

const bundlesLine = async () => {
  const headers = { authorization: `Bearer ${SANDBOX_KEY}` }
  const answer = await send(`${url}/api/v2/internet/data/smile/lookup`, { headers })
  const { data: bundles } = answer.json().data as { data: { code: string; price: string }[] }
  return `bundles: ${bundles.length}, the first is ${bundles[0]?.code} for ${bundles[0]?.price} naira`
}

describe.each(LANGUAGES)('the example in $name', ({ missing, prepare, env = {}, hasClient = false }) => {
  if (missing !== undefined) return void it.skip(`is not run: ${missing}`)

  let folder: string
  let command: Command
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'tabbat-example-'))
    command = await prepare(folder)
  }, 240_000)
  afterAll(() => rmSync(folder, { recursive: true }))

  it('retries with the same Idempotency-Key, handles 422 and lists bundles', async () => {
    const faults = ['503', 'no answer'] as const
    const proxy = await startUnreliableProxy(url, (attempt) => faults[attempt])
    const ended = await runCommand(command, { ...env, TABBAT_URL: proxy.url, TABBAT_KEY: SANDBOX_KEY })
    await proxy.close()
    expect(
      ended.all
        .replace(/ver_[0-9a-z]{30,}/g, 'ver_…')
        .trim()
        .split(/\r?\n/),
    ).toEqual([
      ...(hasClient ? [] : ['503, trying again in 0 s', 'no answer, trying again in 1 s']),
      'verified: ver_…',
      'not verified: ver_…',
      'invalid: phone must be a Nigerian mobile number, for example 08031234567 or +2348031234567',
      await bundlesLine(),
    ])
    expect(ended.code).toBe(0)
    const keys = proxy.attempts.map(({ idempotencyKey }) => idempotencyKey)
    const [first, second, third, ...others] = proxy.attempts
    expect([second, third]).toEqual([first, first])
    expect(others).toHaveLength(2)
    expect(new Set(keys).size).toBe(3)
    for (const key of keys) expect(key).toMatch(/^[\w-]{16,}$/)
  })

  it('gives up after some attempts, without the numbers in its output', async () => {
    const proxy = await startUnreliableProxy(url, () => '503')
    const ended = await runCommand(command, { ...env, TABBAT_URL: proxy.url, TABBAT_KEY: SANDBOX_KEY })
    await proxy.close()
    expect(ended.code).not.toBe(0)
    expect(proxy.attempts).toHaveLength(hasClient ? 5 : 4)
    expect(ended.all).toContain('status 503, code source_unavailable, request req_of_the_proxy')
    for (const secret of ['12345678901', '08031234567', SANDBOX_KEY]) expect(ended.all).not.toContain(secret)
  })
})

it('every request of tabbat.http gets the status in its title', async () => {
  const text = readFileSync('examples/tabbat.http', 'utf8')
  const requests = readHttpFile(text, { TABBAT_URL: url, TABBAT_KEY: SANDBOX_KEY })
  expect(requests.length).toBeGreaterThanOrEqual(8)
  const replayed: string[] = []
  for (const { title, status, method, url: address, headers, body } of requests) {
    const answer = await send(address, { method, headers, ...(body !== undefined && { body }) })
    expect(answer.status, title).toBe(status)
    if (answer.headers['idempotent-replayed'] === 'true') replayed.push(title)
    if (status === 503) expect(answer.headers['retry-after']).toMatch(/^\d+$/)
  }
  expect(replayed).toHaveLength(1)
})
