import { createHook } from 'node:async_hooks'
import type { IncomingMessage } from 'node:http'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { sealEntry } from '../../src/registry/sealed-entry.ts'
import { toNinRecord } from '../../src/sources/sandbox/nin-record.ts'
import { bearer, openTestApp, PHONE, type TestApp } from '../app.ts'

/** On SQLite: between the end of the body and the handover to the audit log nothing is awaited, and no promise is made. */
describe('a verification by a source inside the process', () => {
  const numbers = Array.from({ length: 40 }, (_each, index) => String(63_000_000_000 + index))
  let test: TestApp
  let liveKey: string
  let url: string
  let made = 0
  let promises = 0
  /** Set while the listeners to the end of a body run. */
  let promisesAtEnd: number | undefined
  let handovers: (number | 'after an await')[] = []
  const counter = createHook({
    init: (_id, type) => {
      if (type === 'PROMISE') promises += 1
    },
  })

  beforeAll(async () => {
    test = await openTestApp()
    const { store, keyring, audit } = test.context
    const records = numbers.map((nin) =>
      sealEntry(keyring(), 'nin', nin, { record: toNinRecord(nin, PHONE.slice(1)), mediaId: null }),
    )
    await store.registry.save({ records, media: [], at: Date.now() })
    liveKey = await test.createKey({ mode: 'live', scopes: ['kyc:nin'] })
    const recordWith = audit.recordWith.bind(audit)
    audit.recordWith = (...args) => {
      handovers.push(promisesAtEnd === undefined ? 'after an await' : promises - promisesAtEnd)
      return recordWith(...args)
    }
    const { server } = test.app
    server.prependListener('request', (raw: IncomingMessage) =>
      raw.prependListener('end', () => {
        promisesAtEnd = promises
      }),
    )
    server.on('request', (raw: IncomingMessage) =>
      raw.on('end', () => {
        promisesAtEnd = undefined
      }),
    )
    url = await test.app.listen({ host: '127.0.0.1', port: 0 })
  })
  afterAll(() => test.close())
  const readTime = performance.now
  afterEach(() => {
    counter.disable()
    performance.now = readTime
  })

  const verify = async (key: string | undefined, headers: Record<string, string> = {}) => {
    const response = await fetch(`${url}/api/v2/kyc/verify-nin`, {
      method: 'POST',
      headers: { ...bearer(key), 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ nin: numbers[made++ % numbers.length], phone: PHONE }),
    })
    expect(response.status).toBe(200)
    await response.arrayBuffer()
  }

  it.each(['test', 'live', 'live, Idempotency-Key'])('%s', async (mode) => {
    const key = mode === 'test' ? undefined : liveKey
    const headers = (): Record<string, string> =>
      mode.endsWith('-Key') ? { 'idempotency-key': `order-${made}` } : {}
    // The first request finds empty caches.
    await verify(key, headers())
    handovers = []
    // Once a second the row of a key is read again, and that request waits for it.
    const now = performance.now()
    performance.now = () => now
    counter.enable()
    for (let count = 0; count < 3; count++) await verify(key, headers())
    await Promise.all(Array.from({ length: 9 }, () => verify(key, headers())))
    expect(handovers).toEqual(Array.from({ length: 12 }, () => 0))
  })
})
