import { once } from 'node:events'
import { mkdtempSync, openSync, readFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { loadConfig } from '../../src/context/config.ts'
import { SANDBOX_KEY } from '../../src/keys/sandbox-key.ts'
import { createApiServer } from '../../src/server/api-server.ts'
import { createContext } from '../../src/server/create-context.ts'
import { createLog } from '../../src/telemetry/log.ts'
import { bearer, openTestApp, PHONE, type TestApp } from '../app.ts'
import { inject } from '../inject.ts'
import { open, portOf, readAnswers, statusesIn, toHead } from './raw.ts'

const LIST = '/api/v2/sme-data/list'
let server: TestApp
beforeAll(async () => {
  server = await openTestApp({ TABBAT_MAX_IN_FLIGHT: '4', TABBAT_MAX_IN_FLIGHT_PER_KEY: '2' })
  await server.app.listen({ host: '127.0.0.1', port: 0 })
})
afterAll(() => server.close())

const take = (keyId: string, count: number) =>
  Array.from({ length: count }, () => server.app.admission.enter(keyId))
const free = (keyId: string, count: number) => {
  for (let index = 0; index < count; index++) server.app.admission.leave(keyId)
}
const ask = (path: string, key?: string) =>
  fetch(`http://127.0.0.1:${portOf(server)}${path}`, key === undefined ? {} : { headers: bearer(key) })
const keyIdOf = (key: string) => key.slice('tbt_test_'.length, 'tbt_test_'.length + 8)

describe('above the in-flight limit', () => {
  it('a request is answered 503 overloaded on a connection that stays open, and health still responds', async () => {
    take('one', 2)
    take('two', 2)
    const socket = await open(server)
    const answers = readAnswers(socket, 2)
    socket.write(toHead(`GET ${LIST}`) + toHead(`GET ${LIST}`))
    const received = await answers
    expect(statusesIn(received)).toEqual([503, 503])
    expect(received.toLowerCase()).not.toContain('connection: close')
    socket.destroy()
    const refused = await ask(LIST, SANDBOX_KEY)
    const body = (await refused.json()) as { request_id: string }
    expect(body).toMatchObject({ success: false, code: 'overloaded', retryable: true })
    expect(refused.headers.get('x-request-id')).toBe(body.request_id)
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1'])
    expect((await ask('/health/ready')).status).toBe(200)
    free('one', 2)
    free('two', 2)
    expect((await ask(LIST, SANDBOX_KEY)).status).toBe(200)
  })

  it('a connection is not read after a refusal until its turn, and is then served', async () => {
    take('one', 2)
    take('two', 2)
    const accepted = once(server.app.server, 'connection')
    const socket = await open(server)
    const [serverSide] = (await accepted) as [Socket]
    const paused = once(serverSide, 'pause').then(() => once(serverSide, 'resume'))
    socket.write(toHead(`GET ${LIST}`))
    const refused = await readAnswers(socket, 1)
    await paused
    free('one', 2)
    free('two', 2)
    socket.write(toHead(`GET ${LIST}`))
    expect([...statusesIn(refused), ...statusesIn(await readAnswers(socket, 1))]).toEqual([503, 200])
    socket.destroy()
  })

  it('a queued request is admitted next', async () => {
    take('one', 2)
    take('two', 2)
    const waiting = ask(LIST, SANDBOX_KEY)
    server.app.server.once('request', () => setImmediate(() => free('one', 1)))
    expect((await waiting).status).toBe(200)
    free('one', 1)
    free('two', 2)
  })

  it('a key has its own limit, and other keys are served', async () => {
    const [busy, other] = [await server.createKey(), await server.createKey()]
    take(keyIdOf(busy), 2)
    expect((await ask(LIST, busy)).status).toBe(503)
    expect((await ask(LIST, other)).status).toBe(200)
    free(keyIdOf(busy), 2)
    expect((await ask(LIST, busy)).status).toBe(200)
  })
})

it('callers that ask again at once are refused once each, and not once for each answer', async () => {
  const crowded = await openTestApp({ TABBAT_MAX_IN_FLIGHT: '32', TABBAT_RATE_LIMIT: '1000000' })
  await crowded.app.listen({ host: '127.0.0.1', port: 0 })
  const [callers, answersOfEach] = [200, 10]
  const request = toVerification()
  const seen = { answered: 0, refused: 0 }
  const call = async () => {
    const socket = await open(crowded)
    for (let answered = 0; answered < answersOfEach; ) {
      socket.removeAllListeners()
      const answer = readAnswers(socket, 1)
      socket.write(request)
      const isAnswered = statusesIn(await answer)[0] === 200
      answered += isAnswered ? 1 : 0
      seen[isAnswered ? 'answered' : 'refused'] += 1
    }
    socket.destroy()
  }
  await Promise.all(Array.from({ length: callers }, call))
  await crowded.close()
  expect(seen.answered).toBe(callers * answersOfEach)
  expect(seen.refused).toBeLessThan(3 * callers)
})

function toVerification(): string {
  const body = JSON.stringify({ nin: '12345678901', phone: PHONE })
  return `${toHead('POST /api/v2/kyc/verify-nin', 'content-type: application/json', `content-length: ${body.length}`)}${body}`
}

it('by default one key may take most of the in-flight limit, and not all', async () => {
  const { app, close } = await openTestApp({ TABBAT_MAX_IN_FLIGHT: '10' })
  const entered = Array.from({ length: 9 }, () => app.admission.enter('busy'))
  expect(entered.map((waiting) => waiting === undefined)).toEqual([...Array(8).fill(true), false])
  expect(app.admission.enter('other')).toBeUndefined()
  await close()
})

it('refusals share a log line', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tabbat-overload-'))
  const path = join(folder, 'log')
  const log = createLog('info', openSync(path, 'w'))
  const context = await createContext(
    loadConfig({ TABBAT_DATA_DIR: folder, TABBAT_MAX_IN_FLIGHT: '1' }, ''),
    log,
  )
  const app = createApiServer(context)
  app.admission.enter('one')
  const get = () => inject(app, { url: LIST, headers: bearer() })
  const answers = await Promise.all(Array.from({ length: 20 }, get))
  expect(answers.map(({ statusCode }) => statusCode)).toEqual(Array(20).fill(503))
  const read = () =>
    readFileSync(path, 'utf8')
      .trim()
      .split('\n')
      .flatMap((line) => (line === '' ? [] : [JSON.parse(line) as { event: string; requests: number }]))
  const refusals = () => read().filter(({ event }) => event === 'overloaded')
  const count = () => refusals().reduce((sum, { requests }) => sum + requests, 0)
  while (count() < 20) await new Promise((done) => setTimeout(done, 20))
  await context.close()
  log.flush()
  expect(count()).toBe(20)
  expect(refusals().length).toBeLessThan(20)
  expect(read().filter(({ event }) => event === 'request')).toEqual([])
})
