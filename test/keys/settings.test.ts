import { expect, it } from 'vitest'
import { KEY_SETTINGS } from '../../src/keys/settings.ts'
import { readSettings } from '../../src/settings/read-settings.ts'

it('by default a key makes 3000 requests a minute, and nothing is said of the sandbox', () => {
  expect(readSettings(KEY_SETTINGS, {}, [])).toEqual({ rateLimit: 3000, sandbox: undefined })
})

it('the rate limit and the sandbox can be set, and turned off', () => {
  const read = (rate: string, sandbox: string) =>
    readSettings(KEY_SETTINGS, { TABBAT_RATE_LIMIT: rate, TABBAT_SANDBOX: sandbox }, [])
  expect(read('off', 'off')).toEqual({ rateLimit: 'off', sandbox: 'off' })
  expect(read('1', 'on')).toEqual({ rateLimit: 1, sandbox: 'on' })
  expect(read('10000000', 'ON')).toEqual({ rateLimit: 10_000_000, sandbox: 'on' })
})

it.each([
  ['TABBAT_RATE_LIMIT', '0'],
  ['TABBAT_RATE_LIMIT', '10000001'],
  ['TABBAT_RATE_LIMIT', 'on'],
  ['TABBAT_SANDBOX', 'maybe'],
])('%s cannot be %s', (env, text) => {
  const problems: string[] = []
  readSettings(KEY_SETTINGS, { [env]: text }, problems)
  expect(problems).toEqual([expect.stringMatching(`^${env} must be `)])
})
