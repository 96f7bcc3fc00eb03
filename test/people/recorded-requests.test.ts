import { describe, expect, it } from 'vitest'
import { loadConfig } from '../../src/context/config.ts'
import type { LoggedRow } from '../../src/ledger/audit-row.ts'
import { foldRequests } from '../../src/people/recorded-requests.ts'
import { problemsOf } from '../context/problems.ts'

const toRow = (values: Partial<LoggedRow>) =>
  ({
    ...{ phase: 'outcome', request_reference: 'ver_1', key_id: 'key00001', mode: 'live' },
    ...{ operation: 'verify_nin', time: '2026-11-01T12:00:00.000Z', released: null, detail: null },
    ...{ consent_reference: null, amount: null, outcome: null, sources: null, started_at: null, ...values },
  }) as unknown as LoggedRow

const fold = (...rows: Partial<LoggedRow>[]) => foldRequests(rows.map(toRow), () => 'loans app')

describe('the verifications in audit rows', () => {
  it('have no outcome and no end while they are under way', () => {
    expect(fold({ phase: 'intent' })).toMatchObject([
      { started_at: '2026-11-01T12:00:00.000Z', ended_at: null, outcome: null, replayed_at: [] },
    ])
  })

  it('have the outcome of a replay, if their own rows are in an archive', () => {
    const time = '2026-11-02T12:00:00.000Z'
    expect(fold({ phase: 'replay', outcome: 'verified', time })).toMatchObject([
      { started_at: time, ended_at: null, outcome: 'verified', replayed_at: [time] },
    ])
  })

  it('begin when the outcome says so, and rows of other kinds are left out', () => {
    const started_at = '2026-11-01T11:59:59.000Z'
    const rows = fold(
      { started_at, outcome: 'not_verified' },
      { phase: 'person_reported' },
      { request_reference: null },
    )
    expect(rows).toMatchObject([
      {
        request_reference: 'ver_1',
        started_at,
        ended_at: '2026-11-01T12:00:00.000Z',
        outcome: 'not_verified',
      },
    ])
  })
})

describe('the settings about people', () => {
  it('have purposes that are words, each once', () => {
    expect(loadConfig({ TABBAT_PURPOSES: 'Loan, loan,account-opening' }, '').purposes).toEqual([
      ...['loan', 'account-opening'],
    ])
    expect(problemsOf({ TABBAT_PURPOSES: 'loan,,x y' })).toEqual([
      expect.stringMatching(/^TABBAT_PURPOSES must be words separated by commas; each /),
    ])
  })

  it('have a letterhead of one to six lines', () => {
    expect(loadConfig({ TABBAT_ORGANISATION: 'Shop Ltd; 12 Marina Road' }, '').organisation).toEqual([
      ...['Shop Ltd', '12 Marina Road'],
    ])
    for (const text of ['Shop;;Lagos', 'a;b;c;d;e;f;g', 'x'.repeat(101)])
      expect(problemsOf({ TABBAT_ORGANISATION: text })).toEqual([
        'TABBAT_ORGANISATION must be 1 to 6 lines of 1 to 100 characters, with semicolons between them',
      ])
  })
})
