import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { afterEach, describe, expect, it } from 'vitest'
import { loadConfig } from '../../src/context/config.ts'
import { blusalt } from '../../src/simulator/blusalt.ts'
import { dojah } from '../../src/simulator/dojah.ts'
import { openStandIn } from '../../src/simulator/stand-in.ts'
import { openVendor } from '../../src/sources/open-vendor.ts'
import { bearer, openTestApp } from '../app.ts'

/** The vendor answers while the event loop of this process stands still. */
const NIN = '12345678901'
const PHONE = '8031234567'

/** In a thread, with an event loop of its own. It tells of every request, and answers a little later. */
const VENDOR = `
  const { createServer } = require('node:http')
  const { parentPort } = require('node:worker_threads')
  const body = JSON.stringify({ entity: { nin: '${NIN}', first_name: 'ADA', surname: 'OBI', telephone: '0${PHONE}' } })
  const server = createServer((request, response) => {
    parentPort.postMessage('asked')
    setTimeout(() => response.end(body), 50)
  }).listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port))
`

const open: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close()
})

async function openSlowVendor() {
  const vendor = new Worker(VENDOR, { eval: true })
  open.push(() => vendor.terminate())
  const [port] = (await once(vendor, 'message')) as [number]
  return { vendor, settings: dojah.settings(`http://127.0.0.1:${port}`) }
}

async function openSource(attemptMs: number) {
  const { vendor, settings } = await openSlowVendor()
  const { vendors } = loadConfig(settings, '')
  const source = await openVendor('dojah', { vendors, allowPrivate: false, attemptMs })
  open.push(async () => source.close?.())
  const find = () =>
    source.findNin?.({ nin: NIN, phone: PHONE }, { signal: new AbortController().signal, reference: 'ver_x' })
  return { vendor, find }
}

const standStill = (ms: number) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)

describe('an event loop that stands still', () => {
  it('for longer than a call may take: the answer that has arrived is used', async () => {
    const { vendor, find } = await openSource(500)
    const answer = find()
    await once(vendor, 'message')
    standStill(1500)
    expect(await answer).toMatchObject({ found: true })
  })

  it('for longer than connecting may take: the call goes on', async () => {
    const { find } = await openSource(1000)
    const answer = find()
    standStill(2600)
    expect(await answer).toMatchObject({ found: true })
  })

  it('for longer than a slow source is waited for: no second source is paid, and the first is not blamed', async () => {
    const { vendor, settings } = await openSlowVendor()
    const second = await openStandIn(blusalt)
    open.push(second.close)
    const server = await openTestApp({ ...settings, ...second.settings, TABBAT_NIN_SOURCES: 'dojah,blusalt' })
    open.push(server.close)
    const key = await server.createKey({ mode: 'live' })
    const answer = server.app.inject({
      method: 'POST',
      url: '/api/v2/kyc/verify-nin',
      headers: bearer(key),
      payload: { nin: NIN, phone: `0${PHONE}` },
    })
    await once(vendor, 'message')
    standStill(2500)
    expect((await answer).statusCode).toBe(200)
    expect(second.count()).toBe(0)
    const ready = await server.app.inject({ method: 'GET', url: '/health/ready' })
    expect(ready.json().sources).toEqual({ dojah: 'ok', blusalt: 'ok' })
  })
})
