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
import {
  HTML_WITH_200,
  startUnreliableProxy,
  toRedirect,
  toSuccess,
  toUnavailable,
} from './unreliable-proxy.ts'

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

const VERIFIED = { request_reference: 'ver_of_the_proxy', verification_status: 'VERIFIED' }

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

  const runWith = async (faults: Parameters<typeof startUnreliableProxy>[1]) => {
    const proxy = await startUnreliableProxy(url, faults)
    const ended = await runCommand(command, { ...env, TABBAT_URL: proxy.url, TABBAT_KEY: SANDBOX_KEY })
    await proxy.close()
    return { ended, attempts: proxy.attempts }
  }

  it('retries with the same Idempotency-Key, handles 422 and lists bundles', async () => {
    const faults = [toUnavailable('0'), 'no answer'] as const
    const { ended, attempts } = await runWith({ toVerification: (attempt) => faults[attempt] })
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
    const keys = attempts.map(({ idempotencyKey }) => idempotencyKey)
    const [first, second, third, ...others] = attempts
    expect([second, third]).toEqual([first, first])
    expect(others).toHaveLength(2)
    expect(new Set(keys).size).toBe(3)
    for (const key of keys) expect(key).toMatch(/^[\w-]{16,}$/)
  })

  it('gives up after some attempts, without the numbers in its output', async () => {
    const { ended, attempts } = await runWith({ toVerification: () => toUnavailable('0') })
    expect(ended.code).not.toBe(0)
    expect(attempts).toHaveLength(hasClient ? 5 : 4)
    expect(ended.all).toContain('status 503, code source_unavailable, request req_of_the_proxy')
    for (const secret of ['12345678901', '08031234567', SANDBOX_KEY]) expect(ended.all).not.toContain(secret)
  })

  it.each([
    ['HTML', HTML_WITH_200],
    ['a success with empty data', toSuccess({})],
    ['a success with a reference alone', toSuccess({ request_reference: 'ver_of_the_proxy' })],
    ['a success that says FAILED', toSuccess({ ...VERIFIED, verification_status: 'FAILED' })],
    ['VERIFIED without success', { ...toSuccess(VERIFIED), body: JSON.stringify({ data: VERIFIED }) }],
    ['VERIFIED without a reference', toSuccess({ ...VERIFIED, request_reference: '' })],
    ['data that is a text', toSuccess('VERIFIED')],
  ])('does not take a 200 with %s for verified', async (_name, answer) => {
    const { ended, attempts } = await runWith({ toVerification: () => answer })
    expect(ended.all).toContain('status 200, code unexpected_response')
    expect(ended.all).not.toContain('verified: ')
    expect(ended.code).not.toBe(0)
    expect(attempts).toHaveLength(1)
  })

  it.each([
    ['HTML', HTML_WITH_200],
    ['a success with empty data', toSuccess({})],
    ['a success without data', toSuccess(undefined)],
  ])('does not take a 200 with %s for a list of bundles', async (_name, answer) => {
    const { ended } = await runWith({ toBundles: answer })
    expect(ended.all).toContain('status 200, code unexpected_response')
    expect(ended.code).not.toBe(0)
  })

  it('prints that a list has no bundles', async () => {
    const { ended } = await runWith({ toBundles: toSuccess({ data: [] }) })
    expect(ended.all).toMatch(/^bundles: none$/m)
    expect(ended.code).toBe(0)
  })

  it('sends nothing to the host that a redirect names', async () => {
    const other = await startUnreliableProxy(url, {})
    const elsewhere = other.url.replace('127.0.0.1', 'localhost')
    const { ended, attempts } = await runWith({ toVerification: () => toRedirect(elsewhere) })
    await other.close()
    expect(other.attempts).toEqual([])
    expect(ended.all).toContain('status 307, code unexpected_response')
    expect(ended.code).not.toBe(0)
    expect(attempts).toHaveLength(1)
  })

  it.each(['61', '86400', 'Fri, 01 Jan 2100 00:00:00 GMT'])(
    'gives up if Retry-After is %s: no retry is earlier than told',
    async (retryAfter) => {
      const { ended, attempts } = await runWith({ toVerification: () => toUnavailable(retryAfter) })
      expect(ended.all).toContain('status 503, code source_unavailable, request req_of_the_proxy')
      expect(ended.code).not.toBe(0)
      expect(attempts).toHaveLength(1)
    },
  )
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
