import { expect, it } from 'vitest'
import { createPrintRequest, type RequestLine } from '../../src/telemetry/log.ts'

const FIRST: RequestLine = {
  requestId: 'req_1',
  isOwnId: true,
  operation: 'verify_nin',
  mode: 'test',
  keyId: 'abc',
  status: 200,
  outcome: 'verified',
  durationMs: 1.5,
}

it('prints what each request says, whichever field differs from the request before', () => {
  const print = createPrintRequest()
  const changes: Partial<RequestLine>[] = [
    {},
    { durationMs: 0.25 },
    { keyId: 'def' },
    { mode: 'live' },
    { status: 404 },
    { outcome: 'not_found' },
    { operation: 'verify_bvn' },
    {},
  ]
  for (const change of changes) {
    const { durationMs, ...line } = { ...FIRST, ...change }
    const text = print({ ...line, durationMs }, '2026-01-01T00:00:00.000Z', 'logged')
    expect(text.endsWith('\n')).toBe(true)
    expect(Object.entries(JSON.parse(text))).toEqual([
      ['level', 30],
      ['time', '2026-01-01T00:00:00.000Z'],
      ['event', 'request'],
      ['request_id', 'logged'],
      ['operation', line.operation],
      ['mode', line.mode],
      ['key_id', line.keyId],
      ['status', line.status],
      ['outcome', line.outcome],
      ['duration_ms', durationMs],
    ])
  }
})
