import { describe, expect, it } from 'vitest'
import { createAddresses, createIsProxy } from '../../src/http/address.ts'
import type { Exchange } from '../../src/http/exchange.ts'

const toExchange = (remoteAddress: string, headers: Record<string, string | string[]> = {}) =>
  ({ raw: { socket: { remoteAddress } }, headers: { host: 'inner:8080', ...headers } }) as unknown as Exchange

describe('trusted proxies', () => {
  it('are addresses and networks of both families', () => {
    const isProxy = createIsProxy(['10.0.0.0/8', '192.0.2.7', '2001:db8::/32', '::1'])
    for (const address of ['10.1.2.3', '::ffff:10.1.2.3', '192.0.2.7', '2001:db8::5', '::1'])
      expect(isProxy(address), address).toBe(true)
    for (const address of ['11.0.0.1', '192.0.2.8', '2001:db9::5', '::2', '', 'unknown'])
      expect(isProxy(address), address).toBe(false)
  })
})

describe('the caller behind trusted proxies', () => {
  const { callerOf, hostOf, isSecure } = createAddresses({
    trustProxy: ['10.0.0.0/8', '2001:db8::/32'],
    tlsCert: undefined,
  })
  const forwarded = {
    'x-forwarded-for': '198.51.100.1, 203.0.113.9, 2001:db8::7',
    'x-forwarded-host': 'made-up.example, id.example.com',
    'x-forwarded-proto': 'http, https',
  }

  it('is the last address that is no proxy; host and protocol are those of the last proxy', () => {
    const exchange = toExchange('10.0.0.1', forwarded)
    expect([callerOf(exchange), hostOf(exchange), isSecure(exchange)]).toEqual([
      ...['203.0.113.9', 'id.example.com', true],
    ])
  })

  it('is the peer itself, if that is no proxy: its headers count for nothing', () => {
    const exchange = toExchange('203.0.113.1', forwarded)
    expect([callerOf(exchange), hostOf(exchange), isSecure(exchange)]).toEqual([
      ...['203.0.113.1', 'inner:8080', false],
    ])
  })

  it('is the first of a list of proxies only, and the peer without a list', () => {
    expect(callerOf(toExchange('10.0.0.1', { 'x-forwarded-for': '10.0.0.3, 10.0.0.2' }))).toBe('10.0.0.3')
    expect(callerOf(toExchange('10.0.0.1'))).toBe('10.0.0.1')
    expect(hostOf(toExchange('10.0.0.1'))).toBe('inner:8080')
  })
})
