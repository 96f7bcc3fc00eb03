import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:tls'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SANDBOX_KEY } from '../../src/keys/sandbox-key.ts'
import { dojah } from '../../src/simulator/dojah.ts'
import { toPhoneCoreOf } from '../../src/simulator/people.ts'
import { openStandIn } from '../../src/simulator/stand-in.ts'
import { createSecret, toSignedHeaders } from '../../src/webhooks/attempt.ts'
import { createCertificate } from '../certificate.ts'
import { type Fault, startFlakyProxy } from './flaky-proxy.ts'
import { type ClientServer, openClientServer } from './open-server.ts'
import { CLIENTS, type Described, type Runner, startRunner, type Task } from './runners/start-runner.ts'
import scenarios from './scenarios.json' with { type: 'json' }
import vectors from './webhook-vectors.json' with { type: 'json' }

/** What a call should give. `attempts` are the requests that the proxy saw, and `headers` some headers of each. */
type Expected = {
  readonly kind: string
  readonly attempts?: number | { readonly min?: number; readonly max?: number }
  readonly headers?: Readonly<Record<string, string>>
}

type Step = {
  readonly call: string
  /** `$name` is a field of the result before. */
  readonly arguments?: Readonly<Record<string, unknown>>
  /** What happens to its requests, one after the other; then the server answers. */
  readonly server?: readonly Fault[]
  /** Repeat the call until its result is of this kind. */
  readonly until?: string
  readonly expect: Expected
}

type Scenario = {
  readonly name: string
  readonly client?: Readonly<Record<string, unknown>>
  /** `limits`: not for a client whose HTTP library must limit time and size itself. */
  readonly needs?: string
  /** How many connections the calls may open together. */
  readonly max_connections?: number
  readonly steps: readonly Step[]
}

const SCENARIOS = scenarios as unknown as readonly Scenario[]

const missing = CLIENTS.filter((client) => client.missing !== undefined)
const RUN = CLIENTS.filter((client) => client.missing === undefined)
if (missing.length > 0)
  console.log(`Clients not run: ${missing.map(({ name, missing: why }) => `${name} (${why})`).join(', ')}.`)

/** A client that runs. It has a server of its own: a server refuses the fifth batch that is sent to it at once. */
type Playing = { readonly runner: Runner; readonly server: ClientServer }

const playing = new Map<string, Playing>()
const toPlaying = (name: string): Playing => playing.get(name) as Playing

beforeAll(async () => {
  for (const client of RUN)
    playing.set(client.name, { runner: startRunner(client), server: await openClientServer() })
})
afterAll(async () => {
  for (const { runner, server } of playing.values()) {
    await runner.stop()
    await server.close()
  }
})

/** Every text and number of a value, also of its parts. */
const listValues = (value: unknown): string[] =>
  typeof value === 'object' && value !== null
    ? Object.values(value).flatMap(listValues)
    : [String(value ?? '')]

const listNames = (value: unknown): string[] =>
  typeof value === 'object' && value !== null
    ? Object.entries(value).flatMap(([name, each]) => [name, ...listNames(each)])
    : []

/**
 * What no text about a call may contain: what was sent, the record that came back, the key. Short words and parts of the names of
 * fields are there by chance.
 */
function listPersonal(args: Task['args'], { person }: Described, key: string): string[] {
  const {
    amount: _amount,
    timeout_s: _timeout,
    respond_async: _async,
    provider: _provider,
    ...personal
  } = args
  const sent = [...listValues(personal), ...listValues(person), key]
  const isPublic = (value: string) => /^(ver_|bat_|verify_|order-|consent-|NIN$|BVN$|VERIFIED$)/.test(value)
  const names = listNames(person).join()
  return [...new Set(sent.map((value) => value.trim()))].filter(
    (value) => value.length > 4 && !isPublic(value) && !names.includes(value),
  )
}

const PERSONAL_PATTERNS = /70911111111|9.?222.?2222|zubairu|\box\b|canary/i

async function runStep(step: Step, task: Task, { runner, server: { proxy } }: Playing): Promise<Described> {
  const { attempts, headers = {}, ...expected } = step.expect
  const before = proxy.requests.length
  proxy.fail(...(step.server ?? []))
  const result = await runner.run(task)
  const seen = proxy.requests.slice(before)
  if (step.until !== undefined && result.kind !== step.until) return result
  expect(result).toMatchObject(expected)
  const { min = 0, max = Number.POSITIVE_INFINITY } =
    typeof attempts === 'number' ? { min: attempts, max: attempts } : (attempts ?? {})
  expect(seen.length).toBeGreaterThanOrEqual(min)
  expect(seen.length).toBeLessThanOrEqual(max)
  for (const each of seen) expect(each).toMatchObject(headers)
  const keys = new Set(seen.map((each) => each['idempotency-key']))
  expect(keys.size).toBeLessThanOrEqual(1)
  if (seen.length > 0 && /^(verify_|batches_create)/.test(step.call))
    expect([...keys][0]).toMatch(/^(order-1|[0-9a-f]{8}(-[0-9a-f]{4}){4}[0-9a-f]{8})$/)
  const texts = (result.texts ?? []).join('\n')
  for (const value of listPersonal(task.args, result, String(task.client.key)))
    expect(texts).not.toContain(value)
  expect(texts).not.toMatch(PERSONAL_PATTERNS)
  return result
}

/** Clients wait in most scenarios: all play the same one at the same time. */
describe.each(SCENARIOS)('$name', (scenario) => {
  const { name: title, client = {}, needs, max_connections: maxConnections, steps } = scenario

  it.concurrent.for(RUN.filter(({ hasLimits }) => needs !== 'limits' || hasLimits))(
    '$name',
    async ({ name }, { expect: { poll } }) => {
      const { proxy } = toPlaying(name).server
      const before = proxy.connections()
      let last: Described = { kind: '' }
      for (const step of steps) {
        const args = Object.fromEntries(
          Object.entries(step.arguments ?? {}).map(([argument, value]) => [
            argument,
            typeof value === 'string' && value.startsWith('$') ? last[value.slice(1)] : value,
          ]),
        )
        const settings = { key: SANDBOX_KEY, base_url: proxy.url, ...client }
        const task = { scenario: title, client: settings, call: step.call, args }
        const run = async () => {
          last = { ...last, ...(await runStep(step, task, toPlaying(name))) }
          return last.kind
        }
        if (step.until === undefined) await run()
        else await poll(run, { interval: 250 }).toBe(step.until)
      }
      // The global fetch of Node.js may still have one of another client.
      if (maxConnections !== undefined)
        expect(proxy.connections() - before).toBeLessThanOrEqual(maxConnections)
    },
  )
})

it('a vendor is paid once when responses are lost', async () => {
  const vendor = await openStandIn(dojah)
  const live = await openClientServer({ TABBAT_NIN_SOURCES: 'dojah', ...vendor.settings })
  const key = await live.createKey({ mode: 'live' })
  const verify = async ({ runner }: Playing, index: number) => {
    const nin = `1234567890${index}`
    const proxy = await startFlakyProxy(live.url)
    proxy.fail('lose', 'truncate', 'reset unread')
    const result = await runner.run({
      scenario: 'vendor',
      client: { key, base_url: proxy.url },
      call: 'verify_nin',
      args: { nin, phone: `0${toPhoneCoreOf(nin)}` },
    })
    expect(result).toMatchObject({ kind: 'verified', person: { nin_number: nin } })
    expect(proxy.requests).toHaveLength(4)
    await proxy.close()
  }
  await Promise.all([...playing.values()].map(verify))
  expect(vendor.count()).toBe(RUN.length)
  await live.close()
  await vendor.close()
})

it('a server with a certificate that nobody has signed gets no request', async () => {
  let requests = 0
  const tls = createServer(createCertificate(), (socket) => {
    socket.on('data', () => {
      requests += 1
    })
  }).listen(0, '127.0.0.1')
  await once(tls, 'listening')
  const baseUrl = `https://localhost:${(tls.address() as AddressInfo).port}`
  for (const { runner } of playing.values()) {
    const result = await runner.run({
      scenario: 'tls',
      client: { key: 'tbt_test_canary', base_url: baseUrl, max_retries: 0 },
      call: 'verify_nin',
      args: { nin: '70911111111', phone: '+234 809 222 2222' },
    })
    expect(result).toMatchObject({ kind: 'error', code: 'network_error', status: 0 })
    expect(result.texts?.join()).not.toMatch(PERSONAL_PATTERNS)
  }
  expect(requests).toBe(0)
  tls.close()
})

describe.each(RUN)('$name', ({ name }) => {
  const run = (task: Task) => toPlaying(name).runner.run(task)

  const about = (call: string, args: Task['args']): Task => ({
    scenario: 'functions',
    client: { key: SANDBOX_KEY, base_url: toPlaying(name).server.url },
    call,
    args,
  })

  describe('the check of webhooks', () => {
    it.each(vectors)('$name', async ({ headers, body, secret, expect: expected }) => {
      const args = { headers, body, secret, tolerance_s: 1e12 }
      expect(await run(about('webhook', args))).toMatchObject(expected)
    })

    it.each([
      [0, 300, 'event'],
      [310, 300, 'error'],
      [-310, 300, 'error'],
      [310, 600, 'event'],
      [0, -1, 'error'],
    ])('%i seconds old with a tolerance of %i: %s', async (ageS, tolerance_s, kind) => {
      const secret = createSecret()
      const body = '{"type":"webhook.test","timestamp":"2026-11-16T01:01:02.345Z","data":{}}'
      const headers = toSignedHeaders({ id: 'evt_1', at: Date.now() - ageS * 1000, body }, [secret])
      const result = await run(about('webhook', { headers, body, secret, tolerance_s }))
      expect(result.kind).toBe(kind)
      if (kind === 'error') expect(result.code).toBe('invalid_signature')
      expect(JSON.stringify(result)).not.toContain(secret.slice(6))
    })
  })

  describe('Retry-After', () => {
    const date = 'Mon, 16 Nov 2026 01:00:00 GMT'
    it.each([
      [{ 'retry-after': '30' }, 30],
      [{ 'retry-after': ' 7 ' }, 7],
      [{ 'retry-after': 'Mon, 16 Nov 2026 01:00:30 GMT', date }, 30],
      [{ 'retry-after': date, date: 'Mon, 16 Nov 2026 01:00:30 GMT' }, 0],
      [{ 'retry-after': 'Thu, 01 Jan 1970 00:00:00 GMT' }, 0],
      [{ 'retry-after': 'soon' }, 0],
      [{ 'retry-after': '-5' }, 0],
      [{ 'retry-after': '99999999999' }, 0],
      [{}, 0],
    ])('%j', async (headers, value) => {
      expect(await run(about('retry_after', { headers }))).toMatchObject({ kind: 'value', value })
    })

    it('is the shortest wait; without it the wait is random and grows up to a limit', async () => {
      const delaysOf = async (args: Task['args']) => (await run(about('delays', args))).value as number[]
      expect(Math.min(...(await delaysOf({ retries: 0, retry_after_s: 2 })))).toBeGreaterThanOrEqual(2)
      expect(Math.max(...(await delaysOf({ retries: 0 })))).toBeLessThanOrEqual(0.5)
      expect(Math.max(...(await delaysOf({ retries: 3 })))).toBeGreaterThan(0.5)
      expect(Math.max(...(await delaysOf({ retries: 60 })))).toBeLessThanOrEqual(8)
    })
  })
})
