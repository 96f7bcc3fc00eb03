import { describe, expect, it } from 'vitest'
import {
  type AuditFilter,
  auditFilterErrors,
  compareAge,
  findKeyIds,
  fitsRow,
  toAuditFilter,
  toShownFilter,
} from '../../src/audit/audit-filter.ts'
import { AUDIT_PHASES, EMPTY_HEAD, linkEntries } from '../../src/audit/row.ts'

const [made] = linkEntries('node-1', EMPTY_HEAD, [
  {
    ...{ phase: 'outcome', time: '2026-11-17T08:00:00.500Z', request_reference: 'ver_1', key_id: 'aaaa' },
    ...{ operation: 'verify_nin', subject: 'ab', outcome: 'verified', consent_reference: 'form 7' },
    ...{ sources: '[{"name":"dojah","result":"timeout"},{"name":"prembly","result":"found"}]' },
    detail: 'purpose: loan',
  },
])
const ROW = { ...(made as NonNullable<typeof made>), released: null }
const NAMES = new Map([
  ['aaaa', 'shop'],
  ['bbbb', 'shop'],
  ['cccc', 'till'],
])

describe('a row fits a filter', () => {
  it.each<[AuditFilter, boolean]>([
    [{}, true],
    [{ request_reference: 'ver_1' }, true],
    [{ request_reference: 'ver_2' }, false],
    [{ phase: 'outcome' }, true],
    [{ phase: 'intent' }, false],
    [{ operation: 'verify_nin' }, true],
    [{ operation: 'verify_bvn' }, false],
    [{ subject: 'ab' }, true],
    [{ subject: 'cd' }, false],
    [{ consent_reference: 'form 7' }, true],
    [{ consent_reference: 'form' }, false],
    [{ outcome: 'verified' }, true],
    [{ outcome: 'not_verified' }, false],
    [{ outcome: 'none' }, false],
    [{ key_ids: ['bbbb', 'aaaa'] }, true],
    [{ key_ids: ['bbbb'] }, false],
    [{ key_ids: [] }, false],
    [{ purpose: 'loan' }, true],
    [{ purpose: 'loa' }, false],
    [{ source: 'dojah' }, true],
    [{ source: 'prembly' }, true],
    [{ source: 'youverify' }, false],
    [{ from: '2026-11-17T08:00:00.500Z' }, true],
    [{ from: '2026-11-17T08:00:00.501Z' }, false],
    [{ to: '2026-11-17T08:00:00.500Z' }, true],
    [{ to: '2026-11-17T08:00:00.499Z' }, false],
    [{ phase: 'outcome', outcome: 'not_verified' }, false],
  ])('%j: %s', (filter, fits) => expect(fitsRow(ROW, filter)).toBe(fits))

  it('without an outcome, a key or sources', () => {
    const empty = { ...ROW, outcome: null, key_id: null, sources: null, detail: null }
    expect(fitsRow(empty, { outcome: 'none' })).toBe(true)
    expect(fitsRow(empty, { outcome: 'verified' })).toBe(false)
    expect(fitsRow(empty, { key_ids: ['aaaa'] })).toBe(false)
    expect(fitsRow(empty, { source: 'dojah' })).toBe(false)
    expect(fitsRow(empty, { purpose: 'loan' })).toBe(false)
    expect(fitsRow({ ...ROW, sources: 'no JSON' }, { source: 'dojah' })).toBe(false)
  })
})

it('rows are in the order of their age, the newest first, also those of one moment', () => {
  const at = (time: string, chain: string, sequence: number) => ({ time, chain, sequence })
  const ordered = [at('3', 'a', 1), at('2', 'b', 1), at('2', 'a', 9), at('2', 'a', 8), at('1', 'z', 99)]
  expect(ordered.toReversed().toSorted(compareAge)).toEqual(ordered)
  expect(compareAge(at('2', 'a', 8), at('2', 'a', 8))).toBe(0)
})

describe('a filter as people write it', () => {
  it('is read with its times, its keys and its purpose', () => {
    const given = {
      ...{
        reference: ' ver_1 ',
        key: 'shop',
        outcome: 'verified',
        phase: 'outcome',
        operation: 'verify_nin',
      },
      ...{ source: 'dojah', consent_reference: 'form', purpose: ' Loan ', person: 'ab' },
      ...{ from: '2026-11-17T09:00:00+01:00', to: '2026-11-18' },
    }
    expect(toAuditFilter(given, NAMES)).toEqual({
      ...{ request_reference: 'ver_1', key_ids: ['aaaa', 'bbbb'], outcome: 'verified', phase: 'outcome' },
      ...{
        operation: 'verify_nin',
        source: 'dojah',
        consent_reference: 'form',
        purpose: 'loan',
        subject: 'ab',
      },
      ...{ from: '2026-11-17T08:00:00.000Z', to: '2026-11-18T00:00:00.000Z' },
    })
  })

  it('leaves out what is empty', () => {
    expect(toAuditFilter({ reference: '', key: ' ', from: '', purpose: undefined }, NAMES)).toEqual({})
    expect(toShownFilter({ reference: ' a ', key: '  ', to: undefined })).toEqual({ reference: 'a' })
  })

  it('finds a key by its id or its name', () => {
    expect(['aaaa', 'shop', 'till', 'unknown'].map((key) => findKeyIds(key, NAMES))).toEqual([
      ['aaaa'],
      ['aaaa', 'bbbb'],
      ['cccc'],
      [],
    ])
  })

  it('is refused where no row can fit: an empty extract would look like a proof', () => {
    expect(auditFilterErrors({}, NAMES)).toEqual({})
    const good = { key: 'till', outcome: 'verified', operation: 'verify_bvn', phase: 'key_created' }
    expect(auditFilterErrors(good, NAMES)).toEqual({})
    for (const phase of AUDIT_PHASES) {
      expect(phase).toMatch(/^[a-z]+(_[a-z]+)*$/)
      expect(auditFilterErrors({ phase }, NAMES), phase).toEqual({})
    }
    for (const outcome of ['none', 'cancelled', 'expired', 'not_verified', 'ok', 'revoked', 'wrong_password'])
      expect(auditFilterErrors({ outcome }, NAMES), outcome).toEqual({})
    expect(auditFilterErrors({ key: 'x', outcome: 'x', operation: 'x', phase: 'x' }, NAMES)).toEqual({
      key: ['key must be the name or the id of a key'],
      outcome: ['outcome must be one that the log has, such as verified or not_verified'],
      operation: ['operation must be verify_nin or verify_bvn'],
      phase: ['phase must be one that the log has, such as outcome or key_created'],
    })
    expect(auditFilterErrors({ key: ' ', outcome: '' }, NAMES)).toEqual({})
  })
})
