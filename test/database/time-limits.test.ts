import { expect, it } from 'vitest'
import { LOOK_MS } from '../../src/audit/chain-writer.ts'
import { toTimeLimits } from '../../src/database/time-limits.ts'
import { PROBE_MS } from '../../src/database/timeout-breaker.ts'
import { LEASE_WAIT_MS } from '../../src/keys/rate-limit.ts'

it.each([undefined, 5000, 10_000, 60_000])(
  'a caller waits at most TABBAT_STORE_TIMEOUT (%s)',
  (timeoutMs) => {
    const { operationTimeoutMs, answerTimeoutMs, statementTimeoutMs } = toTimeLimits(timeoutMs)
    const longestMs = LEASE_WAIT_MS + operationTimeoutMs + Math.max(LOOK_MS, PROBE_MS)
    // The rest is for the response.
    expect(longestMs).toBeLessThanOrEqual((timeoutMs ?? 5000) - 200)
    expect(statementTimeoutMs).toBeLessThan(answerTimeoutMs)
    expect(answerTimeoutMs).toBeLessThan(operationTimeoutMs)
  },
)

it('an operation has most of a short timeout', () => {
  expect(toTimeLimits(1000)).toEqual({
    operationTimeoutMs: 650,
    answerTimeoutMs: 618,
    statementTimeoutMs: 553,
  })
})
