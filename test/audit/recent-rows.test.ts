import { describe, expect, it } from 'vitest'
import { createRecentRows } from '../../src/audit/recent-rows.ts'
import { type AuditEntry, EMPTY_HEAD, linkEntries } from '../../src/audit/row.ts'
import { toKeys, toPages } from '../../src/audit/subject-blocks.ts'
import { CONSENT_INDEX, SUBJECT_INDEX } from '../../src/audit/subject-table.ts'

const PEOPLE = ['00', '01', 'aa', 'fe'].map((start) => start.repeat(32))

describe('the rows that are held', () => {
  const entries = (count: number): AuditEntry[] =>
    Array.from({ length: count }, (_none, index) => ({
      phase: 'outcome',
      subject: PEOPLE[index % PEOPLE.length] ?? null,
      consent_reference: index % 2 === 0 ? null : `consent ${index}`,
    }))
  const linkRows = (count: number) => linkEntries('node-1', EMPTY_HEAD, entries(count))

  it('are the last ones of a chain, also after the memory was used several times', () => {
    const recent = createRecentRows(10)
    const rows = linkRows(147)
    for (let at = 0; at < rows.length; at += 7) recent.add(rows.slice(at, at + 7))
    expect(recent.end()).toEqual({ chain: 'node-1', sequence: 147 })
    for (const [after, upTo] of [
      [107, 147],
      [107, 108],
      [115, 125],
      [137, 147],
    ] as const) {
      const listed = rows
        .slice(after, upTo)
        .map(({ sequence, subject }) => ({ sequence, subject: subject ?? '' }))
      expect(recent.copyKeys(SUBJECT_INDEX, 'node-1', after, upTo)).toEqual(toKeys(listed, after + 1))
    }
    const consents = rows
      .slice(107, 146)
      .flatMap(({ sequence, consent_reference: consent }) =>
        consent === null ? [] : [{ sequence, subject: `=${consent}` }],
      )
    expect(toPages(recent.copyKeys(CONSENT_INDEX, 'node-1', 107, 146) ?? new Uint8Array())).toEqual(
      toPages(toKeys(consents, 108)),
    )
  })

  it('are not given for a row that is not held, for another chain, after a gap and after a failure', () => {
    const recent = createRecentRows(10)
    const rows = linkRows(60)
    const ask = (after: number, upTo: number, chain = 'node-1') =>
      recent.copyKeys(SUBJECT_INDEX, chain, after, upTo)?.length
    expect([recent.end(), ask(0, 1)]).toEqual([undefined, undefined])
    recent.add(rows.slice(3, 20))
    expect([ask(2, 20), ask(3, 21), ask(3, 20, 'node-2'), ask(3, 20)]).toEqual([
      ...[undefined, undefined, undefined],
      17 * 8,
    ])
    recent.add(rows.slice(30, 40))
    expect([ask(3, 20), ask(29, 40), ask(30, 40)]).toEqual([undefined, undefined, 80])
    recent.forget()
    expect([recent.end(), ask(30, 40)]).toEqual([undefined, undefined])
    recent.add(rows.slice(40, 42))
    expect([ask(39, 42), ask(40, 42)]).toEqual([undefined, 16])
  })

  it('are announced once for each block', () => {
    const recent = createRecentRows(10)
    const rows = linkRows(60)
    let calls = 0
    recent.onBlock(() => {
      calls += 1
    })
    recent.add(rows.slice(0, 9))
    expect(calls).toBe(0)
    recent.add(rows.slice(9, 10))
    expect(calls).toBe(1)
    recent.add(rows.slice(10, 19))
    recent.forget()
    // Counted all the same: else a log that fails often would never be indexed.
    recent.add(rows.slice(19, 21))
    expect(calls).toBe(2)
  })
})
