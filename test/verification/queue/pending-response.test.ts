import { expect, it } from 'vitest'
import { AppError } from '../../../src/errors.ts'
import {
  readPreference,
  toErrorResponse,
  toRetryHeaders,
} from '../../../src/verification/queue/pending-response.ts'

const NONE = { isAsync: false, wait: undefined }

it.each([
  [undefined, NONE],
  ['', NONE],
  ['respond-async', { isAsync: true, wait: undefined }],
  ['Respond-Async', { isAsync: true, wait: undefined }],
  ['respond-async, wait=5', { isAsync: true, wait: 5 }],
  // Node.js joins several headers with a comma.
  ['return=minimal, respond-async, wait=10', { isAsync: true, wait: 10 }],
  ['wait="7"', { isAsync: false, wait: 7 }],
  ['wait = 7 ; strict', { isAsync: false, wait: 7 }],
  ['respond-async; foo="a,b;c"', { isAsync: true, wait: undefined }],
  ['foo="respond-async, wait=3", wait=4', { isAsync: false, wait: 4 }],
  ['foo="a\\"b, respond-async", wait=4', { isAsync: false, wait: 4 }],
  ['wait=1, wait=2', { isAsync: false, wait: 1 }],
  // RFC 7240, 2: no value and an empty value are the same.
  ['respond-async=""', { isAsync: true, wait: undefined }],
  ['respond-async=no', NONE],
  ['wait', NONE],
  ['wait=-1', NONE],
  ['wait=1.5', NONE],
  ['wait=99999999999', NONE],
  ['wait=0', { isAsync: false, wait: 0 }],
  [',,, ;;; ="', NONE],
  ['respond-async wait=5', NONE],
])('reads %j', (header, expected) => {
  expect(readPreference(header)).toEqual(expected)
})

it('the time of a retry is kept with a stored failure, and told in seconds, one at least', () => {
  const error = new AppError('source_unavailable', { headers: { 'retry-after': '90' } })
  const stored = toErrorResponse(error, 'ver_1', 'req_1')
  expect(stored).toMatchObject({ status: 503, outcome: 'source_unavailable', reference: 'ver_1' })
  const [name, seconds] = toRetryHeaders(stored)
  expect(name).toBe('retry-after')
  // It was stored just now; a slow machine may take some of them.
  expect(Number(seconds)).toBeGreaterThan(30)
  expect(Number(seconds)).toBeLessThanOrEqual(90)
  expect(toRetryHeaders({ retryAt: 1 })).toEqual(['retry-after', '1'])
  expect(toRetryHeaders({ retryAt: undefined })).toEqual([])
  expect(toErrorResponse(new AppError('internal_error'), 'ver_1', 'req_1')).not.toHaveProperty('retryAt')
})
