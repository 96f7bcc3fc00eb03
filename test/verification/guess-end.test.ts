import { expect, it } from 'vitest'
import { AppError } from '../../src/errors.ts'
import { toGuessEnd } from '../../src/verification/ask.ts'
import type { Decision } from '../../src/verification/match.ts'

const failed = (code: 'source_unavailable' | 'audit_unavailable' | 'internal_error'): Decision<never> => ({
  outcome: code,
  error: code === 'internal_error' ? new Error('a bug') : new AppError(code),
})
const end = (decision: Decision<never>, { hasMiss = false, reuse = false, refusesReuse = false } = {}) =>
  toGuessEnd(
    {
      deps: { reuse: reuse ? {} : undefined },
      request: { caller: { mode: 'live' }, number: '12345678901', refusesReuse },
      seen: { hasMiss },
    } as never,
    decision,
  )

it('a guess that a source has refused is not withdrawn, whatever fails afterwards', () => {
  for (const code of ['source_unavailable', 'audit_unavailable', 'internal_error'] as const) {
    expect(end(failed(code), { hasMiss: true })).toBe('unanswered')
    expect(end(failed(code))).toBe('withdrawn')
  }
  expect(end({ outcome: 'not_verified' }, { hasMiss: true })).toBe('failed')
})

it('with reuse, it is unanswered while the sources fail, if an earlier result would have been used', () => {
  expect(end(failed('source_unavailable'), { reuse: true })).toBe('unanswered')
  expect(end(failed('source_unavailable'), { reuse: true, refusesReuse: true })).toBe('withdrawn')
  expect(end(failed('audit_unavailable'), { reuse: true })).toBe('withdrawn')
})
