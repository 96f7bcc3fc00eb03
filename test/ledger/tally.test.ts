import { describe, expect, it } from 'vitest'
import type { AuditRow } from '../../src/ledger/audit-row.ts'
import { type Tally, tallyRows, toSpanName, toTallyValues } from '../../src/ledger/tally.ts'

const toRow = (change: Partial<AuditRow> = {}): AuditRow => ({
  chain: 'node-1',
  sequence: 1,
  time: '2026-11-16T08:42:10.123Z',
  phase: 'outcome',
  request_reference: 'ver_1',
  key_id: 'abcd1234',
  mode: 'live',
  operation: 'verify_nin',
  subject: null,
  outcome: 'verified',
  sources: '[{"name":"dojah","result":"found"}]',
  amount: null,
  consent_reference: null,
  fields_released: null,
  detail: null,
  started_at: null,
  format: 2,
  previous_hash: Buffer.alloc(32),
  hash: Buffer.alloc(32),
  ...change,
})
const listSpans = (rows: readonly AuditRow[]) =>
  tallyRows(rows).map(({ span, at, count, last_at, last_reference }) => [
    span,
    at,
    count,
    last_at,
    last_reference,
  ])
const minutes = (rows: readonly AuditRow[]) => tallyRows(rows).filter(({ span }) => span === 'minute')

describe('a span', () => {
  it.each([
    ['2026-11-16T08:42:10.123Z', '2026-11-16T08:42', '2026-11-16T08', '2026-11-16'],
    // A day begins at midnight in Lagos, an hour before UTC.
    ['2026-11-16T22:59:59.999Z', '2026-11-16T22:59', '2026-11-16T22', '2026-11-16'],
    ['2026-11-16T23:00:00.000Z', '2026-11-16T23:00', '2026-11-16T23', '2026-11-17'],
    ['2026-12-31T23:30:00.000Z', '2026-12-31T23:30', '2026-12-31T23', '2027-01-01'],
    ['2026-11-16T08:00:00.000Z', '2026-11-16T08:00', '2026-11-16T08', '2026-11-16'],
  ])('of %s is named after its beginning', (time, minute, hour, day) => {
    expect((['minute', 'hour', 'day'] as const).map((span) => toSpanName(span, time))).toEqual([
      minute,
      hour,
      day,
    ])
  })
})

describe('the rows of a commit', () => {
  it('add a verification to its minute, its hour and its day', () => {
    expect(tallyRows([toRow()])).toEqual(
      [
        ['minute', '2026-11-16T08:42'],
        ['hour', '2026-11-16T08'],
        ['day', '2026-11-16'],
      ].map(([span, at]) => ({
        span,
        at,
        chain: 'node-1',
        operation: 'verify_nin',
        mode: 'live',
        outcome: 'verified',
        key_id: 'abcd1234',
        source: 'dojah',
        count: 1,
        last_at: '2026-11-16T08:42:10.123Z',
        last_reference: 'ver_1',
      })),
    )
  })

  it('are counted together where they differ in nothing, and the last one is named', () => {
    const rows = [
      toRow(),
      toRow({ time: '2026-11-16T08:42:59.000Z', request_reference: 'ver_2' }),
      toRow({ time: '2026-11-16T08:43:00.000Z', request_reference: 'ver_3' }),
      toRow({ time: '2026-11-16T09:00:00.000Z', request_reference: null }),
    ]
    expect(listSpans(rows)).toEqual([
      ['minute', '2026-11-16T08:42', 2, '2026-11-16T08:42:59.000Z', 'ver_2'],
      ['hour', '2026-11-16T08', 3, '2026-11-16T08:43:00.000Z', 'ver_3'],
      ['day', '2026-11-16', 4, '2026-11-16T09:00:00.000Z', ''],
      ['minute', '2026-11-16T08:43', 1, '2026-11-16T08:43:00.000Z', 'ver_3'],
      ['minute', '2026-11-16T09:00', 1, '2026-11-16T09:00:00.000Z', ''],
      ['hour', '2026-11-16T09', 1, '2026-11-16T09:00:00.000Z', ''],
    ])
    const last = toRow({ request_reference: null })
    expect(minutes([toRow(), last])).toMatchObject([{ count: 2, last_reference: '' }])
  })

  it.each<Partial<AuditRow>>([
    { operation: 'verify_bvn' },
    { mode: 'test' },
    { outcome: 'not_verified' },
    { key_id: 'other' },
    { sources: '[{"name":"prembly","result":"found"}]' },
  ])('are counted apart where they differ in %j', (change) => {
    expect(tallyRows([toRow(), toRow(change)]).map(({ count }) => count)).toEqual(Array(6).fill(1))
  })

  it('count only outcomes: not the beginning of a verification, nor a replay', () => {
    expect(tallyRows([toRow({ phase: 'intent' }), toRow({ phase: 'replay' })])).toEqual([])
  })

  it('may leave out what the request never said', () => {
    const empty = { operation: null, mode: null, outcome: null, key_id: null, request_reference: null }
    expect(minutes([toRow(empty)])).toMatchObject([
      { operation: '', mode: '', outcome: '', key_id: '', last_reference: '' },
    ])
  })

  it.each([
    [null, 'none'],
    ['[]', 'none'],
    ['[{"name":"dojah","result":"timeout"}]', 'none'],
    ['[{"name":"dojah","result":"timeout"},{"name":"prembly","result":"not_found"}]', 'prembly'],
    ['[{"name":"dojah","result":"not_found"},{"name":"prembly","result":"found"}]', 'prembly'],
    ['[{"name":"dojah","result":"watchlisted"}]', 'dojah'],
    ['[{"name":"dojah","result":"reused"},{"name":"prembly","result":"timeout"}]', 'dojah'],
  ])('with the attempts %s were answered by %s', (sources, source) => {
    expect(minutes([toRow({ sources })])).toMatchObject([{ source }])
  })

  it('are counted alike after very many different attempts', () => {
    const rows = Array.from({ length: 2500 }, (_, index) =>
      toRow({ sources: `[{"name":"s${index}","result":"found"}]` }),
    )
    expect(minutes([...rows, ...rows]).map(({ source, count }) => [source, count])).toEqual(
      rows.map((_, index) => [`s${index}`, 2]),
    )
  })
})

it('a tally is written column by column', () => {
  const tally: Tally = {
    ...{
      span: 'day',
      at: 'a',
      chain: 'b',
      operation: 'c',
      mode: 'd',
      outcome: 'e',
      key_id: 'f',
      source: 'g',
    },
    ...{ count: 5, last_at: 'h', last_reference: 'i' },
  }
  expect(toTallyValues(tally)).toEqual(['day', 'a', 'b', 'c', 'd', 'e', 'f', 'g', 5, 'h', 'i'])
})
