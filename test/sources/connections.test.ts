import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, it } from 'vitest'
import { toNinRecord } from '../../src/sources/sandbox/nin-record.ts'
import { bearer, openTestApp } from '../app.ts'

const CONNECTIONS = 4
const CALLERS = 4 * CONNECTIONS
/** Callers wait for a second only. */
const SOON = { interval: 2 }

const opened: { close: () => unknown }[] = []
afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await each.close()
})

const toNin = (caller: number) => String(70_000_000_000 + caller)
const toPhone = (caller: number) => `0803${String(1_000_000 + caller)}`

/** A vendor in the shape of Dojah that answers when so many wait for it, or when it is told to. */
async function openHeldVendor(answersAt: number) {
  const asked: string[] = []
  const waiting: (() => void)[] = []
  const answer = (nin: string, response: ServerResponse) => {
    const { first_name, last_name } = toNinRecord(nin, toPhone(0).slice(1)).personal_info
    const entity = { nin, first_name, last_name, phone_number: toPhone(Number(nin) - 70_000_000_000) }
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ entity }))
  }
  const answerAll = () => {
    for (const each of waiting.splice(0)) each()
  }
  const server = createServer((request, response) => {
    const nin = new URL(request.url ?? '', 'http://vendor').searchParams.get('nin') ?? ''
    asked.push(nin)
    waiting.push(() => answer(nin, response))
    if (waiting.length === answersAt) answerAll()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const close = () => {
    server.closeAllConnections()
    server.close()
  }
  opened.push({ close })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    waiting: () => waiting.length,
    answerAll,
    answerNext: () => waiting.shift()?.(),
  }
}

async function openShop(settings: Record<string, string> = {}, answersAt = Number.POSITIVE_INFINITY) {
  const vendor = await openHeldVendor(answersAt)
  const server = await openTestApp({
    TABBAT_NIN_SOURCES: 'dojah',
    TABBAT_DOJAH_URL: vendor.url,
    TABBAT_DOJAH_APP_ID: 'app',
    TABBAT_DOJAH_SECRET: 'secret',
    TABBAT_DOJAH_PRICE: '50',
    TABBAT_DOJAH_CONNECTIONS: String(CONNECTIONS),
    ...settings,
  })
  opened.push(server)
  const toAsk = (key: string) => (caller: number) =>
    server.app.inject({
      method: 'POST',
      url: '/api/v2/kyc/verify-nin',
      headers: bearer(key),
      payload: { nin: toNin(caller), phone: toPhone(caller) },
    })
  const ask = toAsk(await server.createKey({ mode: 'live' }))
  const askByOther = toAsk(await server.createKey({ mode: 'live' }))
  const { sourceChain } = server.context
  const read = () => sourceChain.connections.get('dojah')?.read()
  return { vendor, ask, askByOther, read, sourceChain }
}

it('callers wait for a connection in turn: each is asked and paid for once, and nothing counts against the vendor', async () => {
  const { vendor, ask, read, sourceChain } = await openShop({}, CONNECTIONS)
  const answers = Array.from({ length: CALLERS }, (_each, caller) => ask(caller))
  expect((await Promise.all(answers)).map(({ statusCode }) => statusCode)).toEqual(Array(CALLERS).fill(200))
  expect(vendor.asked.toSorted()).toEqual(Array.from({ length: CALLERS }, (_each, caller) => toNin(caller)))
  expect(await sourceChain.listSpend()).toEqual([{ name: 'dojah', calls: CALLERS, kobo: CALLERS * 5000 }])
  expect(read()).toEqual({ inUse: 0, waiting: 0 })
  expect(sourceChain.guards[0]?.read()).toMatchObject({
    state: 'closed',
    calls: CALLERS,
    failures: 0,
    skipped: 0,
  })
})

it('a caller of another key waits for one call of the key that came before, not for all', async () => {
  const { vendor, ask, askByOther, read } = await openShop({ TABBAT_DOJAH_CONNECTIONS: '1' })
  const answers = [ask(0)]
  await expect.poll(vendor.waiting, SOON).toBe(1)
  answers.push(ask(1), ask(2))
  await expect.poll(read, SOON).toEqual({ inUse: 1, waiting: 2 })
  answers.push(askByOther(100))
  await expect.poll(read, SOON).toEqual({ inUse: 1, waiting: 3 })
  for (const asked of [2, 3]) {
    vendor.answerNext()
    await expect.poll(() => vendor.asked.length, SOON).toBe(asked)
  }
  expect(vendor.asked.indexOf(toNin(100))).toBe(2)
  const answerAll = () => {
    vendor.answerAll()
    return read()
  }
  await expect.poll(answerAll, SOON).toEqual({ inUse: 0, waiting: 0 })
  await Promise.all(answers)
})

it('after a second of waiting the answer is 503 with Retry-After, unasked and unpaid', async () => {
  const { vendor, ask, read, sourceChain } = await openShop()
  const served = Array.from({ length: CONNECTIONS }, (_each, caller) => ask(caller))
  await expect.poll(vendor.waiting).toBe(CONNECTIONS)
  const asking = [ask(100), ask(101)]
  await expect.poll(read).toEqual({ inUse: CONNECTIONS, waiting: 2 })
  const late = await Promise.all(asking)
  for (const answer of late) {
    expect(answer.json()).toMatchObject({ code: 'source_unavailable' })
    expect(answer.headers['retry-after']).toBeDefined()
  }
  vendor.answerAll()
  expect((await Promise.all(served)).map(({ statusCode }) => statusCode)).toEqual(
    Array(CONNECTIONS).fill(200),
  )
  expect(vendor.asked).toHaveLength(CONNECTIONS)
  expect(await sourceChain.listSpend()).toMatchObject([{ calls: CONNECTIONS }])
  expect(sourceChain.guards[0]?.read()).toMatchObject({ state: 'closed', calls: CONNECTIONS, skipped: 0 })
})

it('after a second of waiting the next source is asked', async () => {
  const { vendor, ask, sourceChain } = await openShop({ TABBAT_NIN_SOURCES: 'dojah,registry' })
  const served = Array.from({ length: CONNECTIONS }, (_each, caller) => ask(caller))
  await expect.poll(vendor.waiting).toBe(CONNECTIONS)
  // The registry is empty; the source that was busy might have the record.
  expect((await ask(100)).json()).toMatchObject({ code: 'source_unavailable' })
  vendor.answerAll()
  await Promise.all(served)
  expect(await sourceChain.listSpend()).toMatchObject([{ calls: CONNECTIONS }])
})
