import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { dojah } from '../../src/simulator/dojah.ts'
import { toPhoneCoreOf } from '../../src/simulator/people.ts'
import { bearer, openTestApp } from '../app.ts'
import { createTestDatabase, hasPostgres } from '../postgres.ts'

const opened: { close: () => Promise<unknown> }[] = []
afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await each.close()
})

/** A vendor that is asked about one number after the other, and answers when the test says so. */
async function openHeldVendor() {
  let calls = 0
  let held = Promise.withResolvers<void>()
  const server = createServer(async (request, response) => {
    const { pathname: path, searchParams: query } = new URL(request.url ?? '/', 'http://vendor')
    calls += 1
    await held.promise
    const { headers, method = 'GET' } = request
    const { status, body } = dojah.answer({ method, path, query, headers, body: undefined }, undefined)
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  opened.push({
    close: async () => {
      server.closeAllConnections()
      server.close()
    },
  })
  return {
    settings: dojah.settings(`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
    count: () => calls,
    answer: () => {
      held.resolve()
      held = Promise.withResolvers()
    },
  }
}

/** A server on a real socket. */
async function openServer(engine: string, { isStopping = false } = {}) {
  const database = engine === 'PostgreSQL' ? { TABBAT_DATABASE_URL: await createTestDatabase() } : {}
  const vendor = await openHeldVendor()
  const server = await openTestApp(
    { ...database, TABBAT_NIN_SOURCES: 'dojah', TABBAT_RATE_LIMIT: 'off', ...vendor.settings },
    { isStopping },
  )
  opened.push(server)
  const url = await server.app.listen({ host: '127.0.0.1', port: 0 })
  const key = await server.createKey({ mode: 'live' })
  const ask = async (nin: string) => {
    const answer = await fetch(`${url}/api/v2/kyc/verify-nin`, {
      method: 'POST',
      headers: { ...bearer(key), 'content-type': 'application/json', prefer: 'respond-async' },
      body: JSON.stringify({ nin, phone: `0${toPhoneCoreOf(nin)}` }),
    })
    expect(answer.status).toBe(202)
    return ((await answer.json()) as { data: { request_reference: string } }).data.request_reference
  }
  const call = async (method: 'GET' | 'DELETE', reference: string) => {
    const path = `/api/v2/kyc/verifications/${reference}`
    const answer = await fetch(`${url}${path}`, { method, headers: bearer(key) })
    await answer.arrayBuffer()
    return answer.status
  }
  const timeline = async (reference: string) =>
    (await server.context.store.audit.byReference(reference)).map(
      ({ phase, outcome }) => `${phase} ${outcome}`,
    )
  return { ...server, vendor, ask, call, timeline }
}

const engines = hasPostgres() ? ['SQLite', 'PostgreSQL'] : ['SQLite']
const QUESTIONS = 6
const CALLERS = 12
const REFUSED_BEFORE = 24

describe.each(engines)('DELETE of a pending verification on %s', (engine) => {
  it('takes no answer from a source that is being asked, however often it is sent', async () => {
    const { vendor, ask, call, timeline } = await openServer(engine)
    for (let index = 0; index < QUESTIONS; index++) {
      const reference = await ask(`7${String(index).padStart(10, '0')}`)
      await expect.poll(vendor.count).toBe(index + 1)
      let refused = 0
      let hasEnded = false
      const keepDeleting = async () => {
        while (!hasEnded) {
          expect(await call('DELETE', reference)).toBe(409)
          refused += 1
          if (refused === REFUSED_BEFORE) vendor.answer()
        }
      }
      const waitForEnd = () => expect.poll(async () => (await timeline(reference)).length).toBeGreaterThan(2)
      await Promise.all([
        // Also where it does not end, so that the callers do.
        waitForEnd().finally(() => {
          hasEnded = true
        }),
        ...Array.from({ length: CALLERS }, keepDeleting),
      ])
      expect(await timeline(reference)).toEqual(['queued null', 'intent null', 'outcome verified'])
      expect(await call('GET', reference)).toBe(200)
    }
    expect(vendor.count()).toBe(QUESTIONS)
  })

  it('is answered 204 to each of many at once, and the end is recorded once', async () => {
    const { context, vendor, ask, call, timeline } = await openServer(engine, { isStopping: true })
    for (let index = 0; index < QUESTIONS; index++) {
      const reference = await ask(`7${String(index).padStart(10, '0')}`)
      const statuses = await Promise.all(Array.from({ length: CALLERS }, () => call('DELETE', reference)))
      expect(statuses).toEqual(Array(CALLERS).fill(204))
      expect(await timeline(reference)).toEqual(['queued null', 'outcome cancelled'])
    }
    expect(await context.store.queue.countPending()).toEqual([])
    expect(vendor.count()).toBe(0)
  })
})
