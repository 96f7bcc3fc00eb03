import { describe, expect, it } from 'vitest'
import { findProblems, findWorstNodes, toHealth, toSpends } from '../../console/src/source-health.ts'
import type { SourceState } from '../../src/admin/shapes/overview.ts'

const WELL: SourceState = {
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
  warnings: [],
}

describe('the health of a source', () => {
  it.each([
    [{}, 'working'],
    [{ calls: 0 }, 'not asked yet'],
    [{ recent_calls: 0 }, 'not asked in the last five minutes'],
    [{ error_rate: 0.2 }, 'some errors'],
    [{ warnings: ['no_funds'] }, 'no funds at the vendor'],
    [{ state: 'open', warnings: ['credentials_refused'] }, 'credentials refused, not asked'],
    [{ warnings: ['mostly_not_found', 'throttled'] }, 'finds nearly no number, asks us to wait'],
    [{ disabled: true, warnings: ['no_funds'] }, 'disabled'],
    [{ calls: 6, error_rate: 1 }, 'failing'],
    [{ state: 'half_open', error_rate: 1 }, 'being tried again'],
    [{ state: 'open', error_rate: 1 }, 'failing, not asked'],
    [{ state: 'open', disabled: true }, 'disabled'],
    [{ spent_kobo_today: 1_999_000, is_capped: true }, 'cap reached, not asked'],
    [{ state: 'not_running', calls: null, error_rate: null }, 'server not running'],
    [{ state: 'bad_response', calls: null, error_rate: null }, 'bad response'],
  ] as const)('of %j is: %s', (part, words) => {
    expect(toHealth({ ...WELL, ...(part as Partial<SourceState>) }).words).toBe(words)
  })

  it('is that of the node where it does worst', () => {
    const rows = [WELL, { ...WELL, node: 'two', state: 'open' }, { ...WELL, node: 'three', calls: 0 }]
    expect(findWorstNodes(rows)).toMatchObject([{ node: 'two', alike: 1, nodes: 3 }])
  })
})

describe('the spend of the day', () => {
  it('counts once for a source, however many operations and nodes it has', () => {
    const rows = [WELL, { ...WELL, operation: 'verify_bvn' }, { ...WELL, node: 'two' }]
    const spends = toSpends([...rows, { ...WELL, source: 'prembly', spent_kobo_today: 1 }])
    expect(spends.map(({ source, spent_kobo_today }) => [source, spent_kobo_today])).toEqual([
      ['dojah', 500_000],
      ['prembly', 1],
    ])
  })
})

describe('what needs attention', () => {
  it('is nothing while all is well', () => {
    expect(findProblems([WELL, { ...WELL, source: 'prembly', calls: 0 }])).toEqual([])
  })

  it('begins with what fails, and ends with what somebody switched off', () => {
    const troubles = findProblems([
      { ...WELL, source: 'youverify', disabled: true },
      { ...WELL, source: 'prembly', spent_kobo_today: 1_700_000 },
      { ...WELL, state: 'open', error_rate: 1 },
      { ...WELL, state: 'open', error_rate: 1, node: 'two' },
    ])
    expect(troubles.map(({ tone, source, words }) => `${tone} ${source} ${words}`)).toEqual([
      'bad dojah Verify NIN: failing, not asked (100% errors)',
      'warn prembly has spent ₦17,000.00 of ₦20,000.00; at its cap it is not asked until midnight in Lagos',
      'dim youverify disabled',
    ])
  })

  it('says it when a cap is reached', () => {
    const capped = { ...WELL, spent_kobo_today: 1_999_000, is_capped: true }
    const [trouble, ...others] = findProblems([capped, { ...capped, operation: 'verify_bvn' }])
    expect(others).toEqual([])
    expect(trouble).toMatchObject({ tone: 'bad', words: expect.stringContaining('its cap of ₦20,000.00') })
  })
})
