import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/contract/time.ts'
import {
  BEGIN_AFTER_MS,
  type IncidentState,
  type NoticeKind,
  type Seen,
  stepIncident,
  toEndAfterMs,
  toQuietEnd,
} from '../../src/notices/incident-rules.ts'

const PASS_MS = 15_000

type Told = { readonly kind: NoticeKind; readonly at: number; readonly incident: IncidentState }

/** Runs the rules over findings, one for each look, and returns what people are told. */
function run(looks: readonly (Seen['level'] | undefined)[], everyMs = PASS_MS): Told[] {
  let open: IncidentState | undefined
  let before: { endedAt: number; repeats: number } | undefined
  const told: Told[] = []
  looks.forEach((level, index) => {
    const at = index * everyMs
    const { incident, notice } = stepIncident(open, level && { level, text: level }, at, before)
    if (incident && notice) told.push({ kind: notice, at, incident })
    if (incident?.endedAt !== undefined) before = { endedAt: incident.endedAt, repeats: incident.repeats }
    open = incident?.endedAt === undefined ? incident : undefined
  })
  return told
}

const lasting = (level: Seen['level'] | undefined, ms: number) =>
  Array.from({ length: Math.round(ms / PASS_MS) }, () => level)
const kinds = (told: readonly Told[]) => told.map(({ kind }) => kind)

describe('an incident', () => {
  it('is told once when it has lasted, once when it has ended, and never between', () => {
    const told = run([...lasting('critical', HOUR_MS), ...lasting(undefined, HOUR_MS)])
    expect(kinds(told)).toEqual(['began', 'ended'])
    expect(told[0]?.at).toBe(BEGIN_AFTER_MS)
    // When it stopped, not when that was certain.
    expect(told[1]?.incident).toMatchObject({ beganAt: 0, endedAt: HOUR_MS })
    expect(told[1]?.at).toBe(HOUR_MS + toEndAfterMs(0))
  })

  it('that does not last is not told', () => {
    expect(run([...lasting('critical', BEGIN_AFTER_MS - PASS_MS), ...lasting(undefined, DAY_MS)])).toEqual([])
  })

  it('that was noted by a clock that was ahead is told and ends as if it began now', () => {
    const now = 10 * DAY_MS
    const later = now + 365 * DAY_MS
    const seen = (level: Seen['level']) => ({ level, text: level })
    const ahead = (level: Seen['level']) => stepIncident(undefined, seen(level), later).incident
    for (const level of ['warning', 'critical'] as const) {
      const first = stepIncident(ahead(level), seen(level), now)
      expect(first.notice).toBeUndefined()
      expect(first.incident?.beganAt).toBe(now)
      const told = stepIncident(first.incident, seen(level), now + BEGIN_AFTER_MS)
      expect(told.notice).toBe('began')
      const cleared = stepIncident(told.incident, undefined, later).incident
      const gone = stepIncident(cleared, undefined, now + HOUR_MS)
      expect(gone.notice).toBeUndefined()
      expect(stepIncident(gone.incident, undefined, now + HOUR_MS + toEndAfterMs(0)).notice).toBe('ended')
    }
    const before = { endedAt: later, repeats: 3 }
    expect(stepIncident(undefined, seen('warning'), now, before).incident?.repeats).toBe(0)
  })

  it('that comes and goes every half minute is one', () => {
    const flapping = Array.from({ length: 480 }, (_each, index) => (index % 4 < 2 ? 'warning' : undefined))
    expect(kinds(run([...flapping, ...lasting(undefined, HOUR_MS)]))).toEqual(['began', 'ended'])
  })

  it('that comes back soon after its end must be absent for longer and longer', () => {
    const cycle = [...lasting('warning', 5 * MINUTE_MS), ...lasting(undefined, 7 * MINUTE_MS)]
    const day = Array.from({ length: 120 }, () => cycle).flat()
    // The first end was believed after five minutes; then ten are asked for, and there are only seven.
    expect(kinds(run(day))).toEqual(['began', 'ended', 'began'])
  })

  it('that becomes critical is told once more, and not when it is a warning again', () => {
    const told = run([
      ...lasting('warning', HOUR_MS),
      ...lasting('critical', HOUR_MS),
      ...lasting('warning', HOUR_MS),
      ...lasting('critical', HOUR_MS),
      ...lasting(undefined, HOUR_MS),
    ])
    expect(kinds(told)).toEqual(['began', 'worse', 'ended'])
    expect(told.map(({ incident }) => incident.told)).toEqual(['warning', 'critical', 'critical'])
  })

  it('that is critical for one look now and then is not told as critical, and soon after one it is', () => {
    const blip = [...lasting('warning', HOUR_MS), 'critical' as const]
    expect(kinds(run([...blip, ...blip, ...blip, ...lasting('warning', HOUR_MS)]))).toEqual(['began'])
    const flapping = [...lasting('warning', MINUTE_MS), 'critical' as const]
    expect(kinds(run([...blip, ...flapping, ...flapping]))).toEqual(['began', 'worse'])
  })

  it('that is critical at once is not told as a warning before', () => {
    const told = run([...lasting('warning', MINUTE_MS), ...lasting('critical', HOUR_MS)])
    expect(kinds(told)).toEqual(['began'])
    expect(told[0]?.incident).toMatchObject({ told: 'critical', beganAt: 0 })
  })
})

const look = fc.constantFrom('warning' as const, 'critical' as const, undefined)

describe('whatever the findings are', () => {
  it('an end follows a beginning, and between them a warning becomes critical at most once', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(look, fc.nat({ max: 60 })), { maxLength: 60 }), (spans) => {
        const told = run(spans.flatMap(([level, looks]) => Array.from({ length: looks }, () => level)))
        expect(kinds(told).join(' ')).toMatch(/^(?:began (?:worse )?ended ?)*(?:began ?(?:worse)?)?$/)
        for (const { kind, incident } of told)
          if (kind === 'ended')
            expect(Number(incident.endedAt) - incident.beganAt).toBeGreaterThanOrEqual(BEGIN_AFTER_MS)
      }),
    )
  })

  it('there are at most 24 messages of one incident in a day', () => {
    fc.assert(
      fc.property(fc.infiniteStream(fc.tuple(look, fc.integer({ min: 1, max: 120 }))), (spans) => {
        const looks: (Seen['level'] | undefined)[] = []
        for (const [level, count] of spans) {
          for (let each = 0; each < count; each++) looks.push(level)
          if (looks.length > DAY_MS / PASS_MS) break
        }
        expect(run(looks.slice(0, DAY_MS / PASS_MS)).length).toBeLessThanOrEqual(24)
      }),
      { numRuns: 50 },
    )
  })

  it('the worst case is bounded too: it comes back as soon as its end is believed', () => {
    let open: IncidentState | undefined
    let before: { endedAt: number; repeats: number } | undefined
    let messages = 0
    for (let at = 0; at < DAY_MS; at += PASS_MS) {
      // Absent from the moment it was told until its end was told.
      const seen = open?.told === undefined ? ({ level: 'warning', text: '' } as const) : undefined
      const { incident, notice } = stepIncident(open, seen, at, before)
      if (notice) messages += 1
      if (incident?.endedAt !== undefined) before = { endedAt: incident.endedAt, repeats: incident.repeats }
      open = incident?.endedAt === undefined ? incident : undefined
    }
    expect(messages).toBeLessThanOrEqual(24)
  })
})

describe('quiet hours', () => {
  const NIGHT = { from: 22 * 60, to: 6 * 60, zone: 'Africa/Lagos' }
  const at = (text: string) => Date.parse(text)

  it.each([
    // Lagos is one hour ahead of UTC.
    ['2026-11-17T20:59:00Z', undefined],
    ['2026-11-17T21:00:00Z', '2026-11-18T05:00:00Z'],
    ['2026-11-17T23:30:00Z', '2026-11-18T05:00:00Z'],
    ['2026-11-18T04:59:59Z', '2026-11-18T05:00:00Z'],
    ['2026-11-18T05:00:00Z', undefined],
  ])('over midnight: %s ends at %s', (now, end) => {
    expect(toQuietEnd(NIGHT, at(now))).toBe(end === undefined ? undefined : at(end))
  })

  it('within a day', () => {
    const noon = { from: 12 * 60, to: 13 * 60 + 30, zone: 'Africa/Lagos' }
    expect(toQuietEnd(noon, at('2026-11-17T11:15:20Z'))).toBe(at('2026-11-17T12:30:00Z'))
    expect(toQuietEnd(noon, at('2026-11-17T12:30:00Z'))).toBeUndefined()
  })

  it('end at the hour of the wall on days with 23 or 25 hours', () => {
    const london = { from: 22 * 60, to: 6 * 60, zone: 'Europe/London' }
    expect(toQuietEnd(london, at('2026-03-28T23:00:00Z'))).toBe(at('2026-03-29T05:00:00Z'))
    expect(toQuietEnd(london, at('2026-10-24T22:00:00Z'))).toBe(at('2026-10-25T06:00:00Z'))
  })

  it('in zones that differ by a part of an hour', () => {
    const kathmandu = { from: 22 * 60, to: 6 * 60, zone: 'Asia/Kathmandu' }
    expect(toQuietEnd(kathmandu, at('2026-11-17T16:15:00Z'))).toBe(at('2026-11-18T00:15:00Z'))
  })

  it('there are none if none are set', () => expect(toQuietEnd(undefined, 0)).toBeUndefined())

  it('end within a day, at a time that is not quiet', () => {
    const minute = fc.integer({ min: 0, max: 1439 })
    fc.assert(
      fc.property(minute, minute, fc.integer({ min: 0, max: 4e12 }), (from, to, now) => {
        fc.pre(from !== to)
        const quiet = { from, to, zone: 'Africa/Lagos' }
        const end = toQuietEnd(quiet, now)
        if (end === undefined) return
        expect(end).toBeGreaterThan(now)
        expect(end - now).toBeLessThanOrEqual(DAY_MS)
        expect(toQuietEnd(quiet, end)).toBeUndefined()
      }),
      { numRuns: 100 },
    )
  })
})
