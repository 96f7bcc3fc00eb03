import { describe, expect, it } from 'vitest'
import { findProblems, findWorstNodes, toHealth, toSpends } from '../../console/src/source-health.ts'
import type { SourceState } from '../../src/admin/source-states.ts'

const HEALTHY: SourceState = {
  source: 'dojah',
  operation: 'verify_nin',
  node: 'one',
  state: 'closed',
  disabled: false,
  calls: 100,
  recent_calls: 100,
  error_rate: 0,
  p50_ms: 200,
  p95_ms: 400,
  p99_ms: 900,
  last_success_at: '2026-11-15T09:00:00.000Z',
  calls_today: 100,
  spent_kobo_today: 500_000,
  cap_kobo: 2_000_000,
  is_capped: false,
  is_down: false,
  warnings: [],
}

describe('the health of a source', () => {
  it.each([
    [{}, 'working'],
    [{ calls: 0 }, 'not called yet'],
    [{ recent_calls: 0 }, 'no calls in the last five minutes'],
    [{ error_rate: 0.2 }, 'some errors'],
    [{ warnings: ['no_funds'] }, 'no funds at the vendor'],
    [{ state: 'open', warnings: ['credentials_refused'] }, 'credentials refused, not called'],
    [{ warnings: ['mostly_not_found', 'throttled'] }, 'finds almost no records, rate limited by the vendor'],
    [{ disabled: true, warnings: ['no_funds'] }, 'disabled'],
    [{ calls: 6, error_rate: 1 }, 'failing'],
    [{ state: 'half_open', error_rate: 1 }, 'failing, being tested'],
    [{ is_down: true, error_rate: 0.3 }, 'failing'],
    [{ state: 'open', error_rate: 1 }, 'failing, not called'],
    [{ state: 'open', disabled: true }, 'disabled'],
    [{ spent_kobo_today: 1_999_000, is_capped: true }, 'cap reached, not called'],
    [{ state: 'not_running', calls: null, error_rate: null }, 'server not running'],
    [{ state: 'bad_response', calls: null, error_rate: null }, 'bad response'],
  ] as const)('of %j is: %s', (part, words) => {
    expect(toHealth({ ...HEALTHY, ...(part as Partial<SourceState>) }).words).toBe(words)
  })

  it.each([
    { state: 'half_open' },
    { state: 'open' },
    { error_rate: 0.3 },
    { warnings: ['throttled'] },
    { state: 'half_open', warnings: ['throttled'] },
  ] as Partial<SourceState>[])('is bad while callers get no answers: %j', (part) => {
    expect(toHealth({ ...HEALTHY, ...part, is_down: true }).tone).toBe('bad')
    expect(toHealth({ ...HEALTHY, ...part, is_down: true, disabled: true }).tone).toBe('dim')
  })

  it('is that of the worst node', () => {
    const rows = [
      HEALTHY,
      { ...HEALTHY, node: 'two', state: 'open' },
      { ...HEALTHY, node: 'three', calls: 0 },
    ]
    expect(findWorstNodes(rows)).toMatchObject([{ node: 'two', alike: 1, nodes: 3 }])
  })
})

describe('the spend of the day', () => {
  it('is counted once per source, not per operation and node', () => {
    const rows = [HEALTHY, { ...HEALTHY, operation: 'verify_bvn' }, { ...HEALTHY, node: 'two' }]
    const spends = toSpends([...rows, { ...HEALTHY, source: 'prembly', spent_kobo_today: 1 }])
    expect(spends.map(({ source, spent_kobo_today }) => [source, spent_kobo_today])).toEqual([
      ['dojah', 500_000],
      ['prembly', 1],
    ])
  })
})

describe('what needs attention', () => {
  it('is nothing while all sources work', () => {
    expect(findProblems([HEALTHY, { ...HEALTHY, source: 'prembly', calls: 0 }])).toEqual([])
  })

  it('lists failing sources first and disabled sources last', () => {
    const problems = findProblems([
      { ...HEALTHY, source: 'youverify', disabled: true },
      { ...HEALTHY, source: 'prembly', spent_kobo_today: 1_700_000 },
      { ...HEALTHY, state: 'open', error_rate: 1 },
      { ...HEALTHY, state: 'open', error_rate: 1, node: 'two' },
    ])
    expect(problems.map(({ tone, source, words }) => `${tone} ${source} ${words}`)).toEqual([
      'bad dojah Verify NIN: failing, not called (100% errors)',
      'warn prembly has spent ₦17,000.00 of ₦20,000.00 today; at the cap it is not called until midnight in Lagos',
      'dim youverify disabled',
    ])
  })

  it('includes a reached cap, once per source', () => {
    const capped = { ...HEALTHY, spent_kobo_today: 1_999_000, is_capped: true }
    const [problem, ...others] = findProblems([capped, { ...capped, operation: 'verify_bvn' }])
    expect(others).toEqual([])
    expect(problem).toMatchObject({
      tone: 'bad',
      words: expect.stringContaining('its daily cap of ₦20,000.00'),
    })
  })
})
