import { describe, expect, it } from 'vitest'
import { loadConfig } from '../../src/context/config.ts'
import { problemsOf, writeSettingFile } from '../context/problems.ts'

describe('the settings of a vendor', () => {
  const DOJAH = { TABBAT_DOJAH_APP_ID: 'a', TABBAT_DOJAH_SECRET: 's' }

  it('are required only if the vendor is in use; a price alone does not put it in use', () => {
    expect(loadConfig({ TABBAT_DOJAH_PRICE: '50' }, '').vendors).toEqual({})
    expect(problemsOf({ TABBAT_NIN_SOURCES: 'dojah', TABBAT_DOJAH_PRICE: '50' })).toHaveLength(2)
    expect(problemsOf({ TABBAT_DOJAH_SECRET: 's' })).toEqual([
      expect.stringContaining('TABBAT_DOJAH_APP_ID is required to use dojah'),
    ])
    expect(loadConfig(DOJAH, '').vendors.dojah?.values).toMatchObject({ app_id: 'a', secret: 's' })
  })

  it('an operation may have a price of its own, which counts for the cap', () => {
    const two = { ...DOJAH, TABBAT_DOJAH_PRICE: '50', TABBAT_DOJAH_BVN_PRICE: '80.50' }
    const { dojah } = loadConfig(two, '').vendors
    expect(dojah).toMatchObject({ price: 5000, prices: { nin: undefined, bvn: 8050 } })
    expect(problemsOf({ ...two, TABBAT_DOJAH_DAILY_CAP: '60' })).toEqual([
      'TABBAT_DOJAH_DAILY_CAP is below TABBAT_DOJAH_BVN_PRICE: no call would be made',
    ])
    const own = { ...two, TABBAT_DOJAH_PRICE: '500', TABBAT_DOJAH_NIN_PRICE: '20' }
    expect(problemsOf({ ...own, TABBAT_DOJAH_DAILY_CAP: '100' })).toEqual([])
  })

  const at = (url: string, more = {}) => problemsOf({ ...DOJAH, TABBAT_DOJAH_URL: url, ...more })
  const PLAIN = ['TABBAT_DOJAH_URL must begin with https://, or set TABBAT_SOURCES_PLAIN_HTTP=on']

  it.each(['127.evil.test', '127.0.0.1.evil.test', 'localhost.evil.test', 'api.localhost', '128.0.0.1'])(
    'do not take %s for this machine',
    (host) => {
      expect(at(`http://${host}`)).toEqual(PLAIN)
      expect(at(`http://${host}`, { TABBAT_SOURCES_PRIVATE: 'on' })).toEqual(PLAIN)
      expect(at(`http://${host}`, { TABBAT_SOURCES_PLAIN_HTTP: 'on' })).toEqual([])
    },
  )

  it.each(['127.0.0.1', '127.9.9.9', 'localhost', 'LOCALHOST', '[::1]', '[::ffff:127.0.0.1]', '127.1'])(
    'may name this machine over plain http: %s',
    (host) => expect(at(`http://${host}:9101`)).toEqual([]),
  )

  it('need one setting for private addresses and another for plain http', () => {
    const refused = [
      'TABBAT_DOJAH_URL is a private address: set TABBAT_SOURCES_PRIVATE=on if that is intended',
    ]
    expect(at('https://10.0.0.5')).toEqual(refused)
    expect(at('http://10.0.0.5', { TABBAT_SOURCES_PLAIN_HTTP: 'on' })).toEqual(refused)
    expect(at('https://10.0.0.5', { TABBAT_SOURCES_PRIVATE: 'on' })).toEqual([])
    const both = { TABBAT_SOURCES_PRIVATE: 'on', TABBAT_SOURCES_PLAIN_HTTP: 'on' }
    expect(at('http://10.0.0.5', both)).toEqual([])
  })

  it('can be read from a file only if they are secret', () => {
    const path = writeSettingFile('secret', 's')
    expect(
      problemsOf({
        TABBAT_NIN_SOURCES: 'dojah',
        TABBAT_DOJAH_APP_ID_FILE: path,
        TABBAT_DOJAH_SECRET_FILE: path,
      }),
    ).toEqual([expect.stringContaining('TABBAT_DOJAH_APP_ID is required to use dojah')])
  })

  it('have a cap that goes with the price', () => {
    expect(problemsOf({ ...DOJAH, TABBAT_DOJAH_DAILY_CAP: '100', TABBAT_PORT: 'x' })).toEqual([
      expect.stringContaining('TABBAT_PORT must be'),
      'TABBAT_DOJAH_DAILY_CAP needs TABBAT_DOJAH_PRICE: without a price, no spend is counted and no call is stopped',
    ])
    expect(problemsOf({ ...DOJAH, TABBAT_DOJAH_PRICE: '50', TABBAT_DOJAH_DAILY_CAP: '49.99' })).toEqual([
      'TABBAT_DOJAH_DAILY_CAP is below TABBAT_DOJAH_PRICE: no call would be made',
    ])
    expect(problemsOf({ ...DOJAH, TABBAT_DOJAH_PRICE: '50', TABBAT_DOJAH_DAILY_CAP: '50' })).toEqual([])
  })

  it('of relay are complete with one key or with two, and missing ones are reported with all other problems', () => {
    const RELAY = { TABBAT_NIN_SOURCES: 'relay', TABBAT_RELAY_URL: 'https://verify.example.com/api/v2' }
    const missing = expect.stringContaining('TABBAT_RELAY_KEY is required to use relay, or both')
    expect(problemsOf({ ...RELAY, TABBAT_RELAY_PUBLIC_KEY: 'p', TABBAT_PORT: 'x' })).toEqual([
      expect.stringContaining('TABBAT_PORT must be'),
      missing,
    ])
    expect(problemsOf({ TABBAT_NIN_SOURCES: 'relay' })).toEqual([
      expect.stringContaining('TABBAT_RELAY_URL is required to use relay'),
      missing,
    ])
    expect(problemsOf({ ...RELAY, TABBAT_RELAY_KEY: 'two words' })).toHaveLength(1)
    expect(problemsOf({ ...RELAY, TABBAT_RELAY_KEY: 'k' })).toEqual([])
  })
})
