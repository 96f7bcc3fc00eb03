import { expect, it } from 'vitest'
import { loadConfig } from '../../src/context/config.ts'
import { toConnectionLimits } from '../../src/http/connection-limits.ts'

it('the admin listener waits longer than the API for a slow reader of a long export', () => {
  const config = loadConfig({}, '')
  expect(toConnectionLimits(config, 'api').stalledMs).toBe(30_000)
  expect(toConnectionLimits(config, 'admin').stalledMs).toBe(120_000)
})
