import { describe, expect, it } from 'vitest'
import { DAY_MS, toLagosDate } from '../../src/contract/time.ts'
import { planMonth, SHOP_NAMES, SHOPS } from '../../src/demo/traffic.ts'

const until = Date.parse('2026-06-30T15:00:00Z')
const month = { from: until - 30 * DAY_MS, until }
const visitsOf = (moments: ReturnType<typeof planMonth>) =>
  moments.flatMap(({ at, act }) => (act.kind === 'visit' ? [{ at, ...act.visit }] : []))

describe('the month of a demonstration', () => {
  it('follows from its seed', () => {
    expect(planMonth(month, 7)).toEqual(planMonth(month, 7))
    expect(planMonth(month, 8)).not.toEqual(planMonth(month, 7))
  })

  it('is in order, and never in the future', () => {
    const times = planMonth(month, 7).map(({ at }) => at)
    expect(times.length).toBeGreaterThan(2000)
    expect(times).toEqual(times.toSorted((one, other) => one - other))
    expect(times.every((at) => at >= month.from && at < month.until)).toBe(true)
  })

  it.each([1, 2, 30])('has everything, also in %s days', (days) => {
    const moments = planMonth({ from: until - days * DAY_MS, until }, 7)
    expect(new Set(moments.map(({ act }) => act.kind))).toEqual(
      new Set([
        'visit',
        'lookup',
        'batch',
        'vendors',
        'told',
        'change-agents',
        'revoke-website',
        'add-warehouse',
        'erase',
        'backup',
      ]),
    )
    expect(new Set(visitsOf(moments).map(({ shop }) => shop))).toEqual(new Set(SHOP_NAMES))
    const works = moments.flatMap(({ act }) => (act.kind === 'vendors' ? [act] : []))
    expect(works.at(-1)).toMatchObject({ dojah: true, prembly: true })
  })

  it('leaves a key close to its quota of today, at any time of the day', () => {
    for (const end of ['2026-06-30T15:00:00Z', '2026-06-29T23:00:05Z', '2026-06-30T22:59:00Z'].map(
      Date.parse,
    )) {
      const visits = visitsOf(planMonth({ from: end - 30 * DAY_MS, until: end }, 7))
      const today = visits.filter(
        ({ at, shop }) => shop === 'pharmacy' && toLagosDate(at) === toLagosDate(end),
      )
      const people = new Set(today.map(({ body }) => JSON.stringify(body)))
      expect(people.size).toBe(SHOPS.pharmacy.options.subjectsPerDay - 2)
    }
  })

  it('has numbers that no person has', () => {
    for (const { body } of visitsOf(planMonth(month, 7)))
      for (const number of Object.entries(body ?? {}).flatMap(([name, value]) =>
        name === 'nin' || name === 'bvn' ? [value] : [],
      ))
        expect(number).toMatch(/^(0001|9900)\d{7}$/)
  })
})
