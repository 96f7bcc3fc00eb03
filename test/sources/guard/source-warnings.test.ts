import { describe, expect, it } from 'vitest'
import { SOURCE_WARNINGS } from '../../../src/sources/guard/call-guard.ts'
import { createSourceWarnings, type WarningEvent } from '../../../src/sources/guard/call-record.ts'
import { SourceError } from '../../../src/sources/source.ts'
import type { SourceProblem } from '../../../src/sources/source-problem.ts'

const open = () => {
  const clock = { ms: 0 }
  const events: WarningEvent[] = []
  const warnings = createSourceWarnings({ now: () => clock.ms, onEvent: (event) => events.push(event) })
  return { clock, events, ...warnings }
}
const EMPTY = new SourceError('dojah', 'refused', { problem: 'funds' })

describe('a warning', () => {
  it('starts with the first refusal, is repeated every five minutes, and ends with an answer', () => {
    const { record, list, events, clock } = open()
    for (let minute = 0; minute < 11; minute++) {
      record(EMPTY)
      record(EMPTY)
      clock.ms += 60_000
    }
    expect(list()).toEqual(['no_funds'])
    record(new SourceError('dojah', 'unreachable'))
    expect(list()).toEqual(['no_funds'])
    record('not_found')
    expect(list()).toEqual([])
    record('found')
    expect(events.map(({ state }) => state)).toEqual(['started', 'continues', 'continues', 'ended'])
  })

  it.each([
    ['unknown_path', 'unknown_path'],
    ['unknown_account', 'credentials_refused'],
    ['unlisted', 'unlisted_answer'],
    ['rejected', 'question_rejected'],
    ['no_phone', 'unreadable_phone'],
    ['mixed_phones', 'unreadable_phone'],
  ] as const)('is given for %s: %s', (problem, reason) => {
    const { record, list } = open()
    record(new SourceError('dojah', 'bad_response', { problem }))
    expect(list()).toEqual([reason])
  })

  it('about some requests ends when none occurred for five minutes, and does not flap', () => {
    const { record, events, clock } = open()
    const unlisted = new SourceError('dojah', 'bad_response', { problem: 'unlisted' })
    for (let minute = 0; minute < 4; minute++) {
      record(unlisted)
      record('found')
      clock.ms += 60_000
    }
    expect(events.map(({ state }) => state)).toEqual(['started'])
    clock.ms += 240_000
    record('found')
    expect(events.map(({ state }) => state)).toEqual(['started', 'ended'])
  })

  it.each([
    ['twenty answers, none found', 20, 0, ['mostly_not_found']],
    ['too few answers', 19, 0, []],
    ['two found of fifty', 48, 2, ['mostly_not_found']],
    ['one found in ten', 45, 5, []],
  ])('is given for a source that finds almost no records: %s', (_what, notFound, found, expected) => {
    const { record, list } = open()
    for (let call = 0; call < found; call++) record('found')
    for (let call = 0; call < notFound; call++) record('not_found')
    expect(list()).toEqual(expected)
  })

  it('ends when records are found again, and does not flap', () => {
    const { record, events } = open()
    for (let call = 0; call < 60; call++) record('not_found')
    for (let call = 0; call < 5; call++) record('found')
    expect(events).toHaveLength(1)
    record('found')
    expect(events.map(({ state }) => state)).toEqual(['started', 'ended'])
  })
})

describe('a warning to the operator', () => {
  const open = () => {
    const clock = { ms: 1_000_000 }
    const warnings = createSourceWarnings({ now: () => clock.ms })
    return { clock, ...warnings }
  }
  const problem = (name: SourceProblem) => new SourceError('dojah', 'bad_response', { problem: name })
  const FIVE_MINUTES = 300_000

  it.each([
    ['funds', 'no_funds'],
    ['credentials', 'credentials_refused'],
    ['unknown_account', 'credentials_refused'],
    ['unknown_path', 'unknown_path'],
  ] as const)('of %s (%s) ends with the next answer', (name, reason) => {
    const { record, list } = open()
    record(problem(name))
    expect(list()).toEqual([reason])
    record('not_found')
    expect(list()).toEqual([])
  })

  it.each([
    ['unlisted', 'unlisted_answer'],
    ['contradictory', 'unlisted_answer'],
    ['rejected', 'question_rejected'],
    ['no_phone', 'unreadable_phone'],
    ['unreadable_phone', 'unreadable_phone'],
    ['mixed_phones', 'unreadable_phone'],
  ] as const)('of %s (%s) ends when it has not occurred for five minutes', (name, reason) => {
    const { clock, record, list } = open()
    record(problem(name))
    clock.ms += FIVE_MINUTES - 1000
    record(problem(name))
    clock.ms += FIVE_MINUTES - 1
    record('found')
    expect(list()).toEqual([reason])
    clock.ms += 1
    record('found')
    expect(list()).toEqual([])
  })

  it('of records that are mostly not found is judged by the last fifty answers', () => {
    const { record, list } = open()
    for (let answer = 0; answer < 3; answer++) record('found')
    for (let answer = 0; answer < 47; answer++) record('not_found')
    expect(list()).toEqual([])
    record('not_found')
    expect(list()).toEqual(['mostly_not_found'])
  })

  it('can have each of the reasons that are listed', () => {
    expect([...SOURCE_WARNINGS].sort()).toEqual([
      'credentials_refused',
      'mostly_not_found',
      'no_funds',
      'question_rejected',
      'throttled',
      'unknown_path',
      'unlisted_answer',
      'unreadable_phone',
    ])
  })
})
