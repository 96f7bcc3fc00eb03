import { describe, expect, it } from 'vitest'
import { createSourceWarnings, type WarningEvent } from '../../../src/sources/guard/call-record.ts'
import { SourceError } from '../../../src/sources/source.ts'

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
