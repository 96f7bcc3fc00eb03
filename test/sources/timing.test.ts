import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { loadConfig } from '../../src/context/config.ts'
import { dojah } from '../../src/simulator/dojah.ts'
import type { VendorRequest } from '../../src/simulator/stand-in.ts'
import { openVendor } from '../../src/sources/open-vendor.ts'
import type { Source } from '../../src/sources/source.ts'
import { compareTimes } from '../timing.ts'

const KNOWN = '41'
const UNKNOWN = '42'
const BODY_BYTES = 4096

let vendor: Server
let source: Source
beforeAll(async () => {
  vendor = createServer((request, response) => {
    const { pathname: path, searchParams: query } = new URL(request.url ?? '', 'http://vendor')
    const { status, body } = answer({ method: 'GET', path, query, headers: request.headers, body: undefined })
    response.writeHead(status, { 'content-type': 'application/json', 'content-length': BODY_BYTES })
    response.end(body)
  }).listen(0, '127.0.0.1')
  await once(vendor, 'listening')
  const url = `http://127.0.0.1:${(vendor.address() as AddressInfo).port}`
  const { vendors } = loadConfig({ TABBAT_NIN_SOURCES: 'dojah', ...dojah.settings(url) }, '')
  source = await openVendor('dojah', { vendors, allowPrivate: false })
})
afterAll(async () => {
  await source.close?.()
  vendor.closeAllConnections()
  vendor.close()
})

/** A vendor that takes the same time for both and sends the same number of bytes. Any difference is ours. */
function answer(request: VendorRequest) {
  const known = JSON.stringify(dojah.answer(request, undefined).body).padEnd(BODY_BYTES)
  const unknown = JSON.stringify({ error: 'NIN not found' }).padEnd(BODY_BYTES)
  return request.query.get('nin')?.startsWith(KNOWN)
    ? { status: 200, body: known }
    : { status: 404, body: unknown }
}

it('an unknown person and a wrong phone take the same time, apart from the time of the vendor', async () => {
  const find = async (nin: string) => {
    const call = { signal: new AbortController().signal, reference: 'ver_timing' }
    return (await source.findNin?.({ nin, phone: '8021112223' }, call))?.found
  }
  expect([await find(`${KNOWN}100000000`), await find(`${UNKNOWN}100000000`)]).toEqual([true, false])
  const { differ, rounds } = await compareTimes(2000, (index) => {
    const rest = String(100_000_000 + index)
    return { one: () => find(`${KNOWN}${rest}`), other: () => find(`${UNKNOWN}${rest}`) }
  })
  expect(differ, JSON.stringify(rounds)).toBe(false)
})
