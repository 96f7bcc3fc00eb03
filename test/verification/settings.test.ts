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
  ['TABBAT_PENDING_WAIT', 'pendingWait', '1s', 1000, '1m', MINUTE_MS, ['0s', '61s']],
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
