import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/contract/time.ts'
import { readSettings } from '../../src/settings/read-settings.ts'
import { InvalidSetting } from '../../src/settings/setting.ts'
import { PENDING_SETTINGS } from '../../src/verification/settings.ts'

it('pending verifications have these settings when nothing is set', () => {
  expect(readSettings(PENDING_SETTINGS, {}, [])).toEqual({
    pendingLimit: DAY_MS,
    pendingKeep: DAY_MS,
    pendingWait: 15_000,
    pendingRetry: 10_000,
    pendingRetryMax: 15 * MINUTE_MS,
    pendingMax: 1_000_000,
    pendingMaxPerKey: 100_000,
    pendingConcurrency: 16,
  })
})

describe.each([
  ['TABBAT_PENDING_LIMIT', 'pendingLimit', '1m', MINUTE_MS, '7d', 7 * DAY_MS, ['59s', '8d', '169h']],
  ['TABBAT_PENDING_KEEP', 'pendingKeep', '1m', MINUTE_MS, '30d', 30 * DAY_MS, ['59s', '31d', '721h']],
  ['TABBAT_PENDING_WAIT', 'pendingWait', '1s', 1000, '25s', 25_000, ['0s', '26s', '1m']],
  ['TABBAT_PENDING_RETRY', 'pendingRetry', '1s', 1000, '1h', HOUR_MS, ['0s', '3601s']],
  ['TABBAT_PENDING_RETRY_MAX', 'pendingRetryMax', '1s', 1000, '24h', DAY_MS, ['0s', '86401s']],
  ['TABBAT_PENDING_MAX', 'pendingMax', '1', 1, '100000000', 100_000_000, ['0', '100000001']],
  ['TABBAT_PENDING_MAX_PER_KEY', 'pendingMaxPerKey', '1', 1, '100000000', 100_000_000, ['0', '100000001']],
  ['TABBAT_PENDING_CONCURRENCY', 'pendingConcurrency', '1', 1, '1000', 1000, ['0', '1001']],
] as const)('the setting %s', (env, name, least, leastValue, most, mostValue, wrong) => {
  it('has a least and a largest value', () => {
    expect(PENDING_SETTINGS[name].env).toBe(env)
    expect(PENDING_SETTINGS[name].read(least)).toBe(leastValue)
    expect(PENDING_SETTINGS[name].read(most)).toBe(mostValue)
    for (const text of wrong) expect(() => PENDING_SETTINGS[name].read(text)).toThrow(InvalidSetting)
  })
})

it('a caller that waits for the longest time gets an answer before the proxies end the request', () => {
  const limits = [
    ['deploy/haproxy/haproxy.cfg', /timeout server (\d+)s/g],
    ['deploy/nginx/nginx.conf.template', /proxy_read_timeout (\d+)s/g],
  ] as const
  for (const [file, pattern] of limits) {
    const seconds = [...readFileSync(file, 'utf8').matchAll(pattern)].map(([, found]) => Number(found))
    expect(seconds.length).toBeGreaterThan(0)
    for (const limit of seconds)
      expect(limit * 1000).toBeGreaterThanOrEqual(PENDING_SETTINGS.pendingWait.read('25s') + 5000)
  }
})

it('a longer wait is refused with the reason', () => {
  const problems: string[] = []
  readSettings(PENDING_SETTINGS, { TABBAT_PENDING_WAIT: '50s' }, problems)
  expect(problems).toEqual([
    'TABBAT_PENDING_WAIT must be at most 25s: the proxies in deploy/ end a request after 30 seconds',
  ])
})
