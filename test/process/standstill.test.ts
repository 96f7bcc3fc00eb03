import { once } from 'node:events'
import { createServer, type IncomingMessage, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { dojah } from '../../src/simulator/dojah.ts'
import { toPhoneCoreOf } from '../../src/simulator/people.ts'
import { createTestDatabase, hasPostgres } from '../postgres.ts'
import { newDataDir, type RunningServer, type Settings, startServer, tabbat } from './tabbat.ts'

/** A server that is stopped for longer than a call to a vendor, and a body, may take. */
const CALLS = 20
const STOPPED_MS = 11_000
/** Bodies that are late are noticed once a second. */
const NOTICED_MS = 1500

/** A vendor that answers when `answer` is called. */
async function openVendor() {
  const waiting: (() => void)[] = []
  let count = 0
  const server = createServer((incoming, response) => {
    const url = new URL(incoming.url ?? '/', 'http://vendor')
    const asked = {
      method: 'GET',
      path: url.pathname,
      query: url.searchParams,
      headers: incoming.headers,
      body: undefined,
    }
    const { status, body } = dojah.answer(asked, undefined)
    count += 1
    waiting.push(() => response.writeHead(status).end(JSON.stringify(body)))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    settings: dojah.settings(`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
    count: () => count,
    answer: () => waiting.splice(0).forEach((send) => void send()),
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

type Vendor = Awaited<ReturnType<typeof openVendor>>

describe.concurrent.each(['SQLite', 'PostgreSQL'])('a stopped server on %s', (engine) => {
  const isMissing = engine === 'PostgreSQL' && !hasPostgres()
  let vendor: Vendor
  let server: RunningServer
  let key: string
  beforeAll(async () => {
    if (isMissing) return
    vendor = await openVendor()
    const settings: Settings = {
      ...vendor.settings,
      TABBAT_DATA_DIR: newDataDir(),
      TABBAT_NIN_SOURCES: 'dojah',
      TABBAT_LOG_LEVEL: 'silent',
      ...(engine === 'PostgreSQL' && { TABBAT_DATABASE_URL: await createTestDatabase() }),
    }
    const made = await tabbat(settings, 'keys', 'create', '--name', 'x', '--mode', 'live')
    key = /tbt_live_\w+/.exec(made.stdout)?.[0] ?? ''
    server = await startServer(settings)
  })
  afterAll(async () => {
    server?.child.kill('SIGCONT')
    await server?.stop()
    vendor?.close()
  })

  const verify = async (nin: string) => {
    const response = await fetch(`${server.url}/api/v2/kyc/verify-nin`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ nin, phone: `0${toPhoneCoreOf(nin)}` }),
    })
    return response.status
  }

  /** A request whose body comes in two parts. */
  const sendSlowly = (nin: string) => {
    const body = JSON.stringify({ nin, phone: `0${toPhoneCoreOf(nin)}` })
    const sent = request(`${server.url}/api/v2/kyc/verify-nin`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-length': body.length },
    })
    sent.write(body.slice(0, 10))
    const answer = once(sent, 'response').then(
      ([response]) => (response as IncomingMessage).resume().statusCode,
    )
    return { answer, finish: () => void sent.end(body.slice(10)) }
  }

  it.skipIf(isMissing)(
    'uses all that arrived meanwhile, and blames neither the vendor nor the caller',
    async ({ expect }) => {
      const answers = Array.from({ length: CALLS }, (_, index) => verify(String(12_345_678_900 + index)))
      await expect.poll(vendor.count).toBe(CALLS)
      const slow = sendSlowly('12345678999')
      await pause(NOTICED_MS)
      server.child.kill('SIGSTOP')
      vendor.answer()
      slow.finish()
      await pause(STOPPED_MS)
      server.child.kill('SIGCONT')
      expect(await Promise.all(answers)).toEqual(Array.from({ length: CALLS }, () => 200))
      await expect.poll(vendor.count).toBe(CALLS + 1)
      vendor.answer()
      expect(await slow.answer).toBe(200)
      const ready = (await (await fetch(`${server.url}/health/ready`)).json()) as object
      expect(ready).toMatchObject({ status: 'ready', sources: { dojah: 'ok' } })
    },
  )
})
