import { describe, expect, it } from 'vitest'
import { AdminRefusal } from '../contract/admin-error.ts'
import { createTries, type Mark, type Tries } from './throttle.ts'
import { createSignInMarks } from './throttle-keys.ts'

const MARK: Mark = { key: 'a', free: 5, longestWaitMs: 300_000 }

/** A clock that is set by hand. */
function createClock() {
  let at = 1_790_000_000_000
  return {
    now: () => at,
    pass: (ms: number) => {
      at += ms
    },
  }
}

/** How long whoever tries now has to wait, in seconds; 0 when the try is let in. */
function waitOf(tries: Tries, ...marks: Mark[]): number {
  try {
    tries.begin(marks)
    return 0
  } catch (error) {
    return Number(error instanceof AdminRefusal && error.headers[1])
  }
}

const fail = (tries: Tries, times: number, ...marks: Mark[]) => {
  for (let time = 0; time < times; time++) tries.begin(marks)
}

describe('failures', () => {
  it('cost 1, 2, 4 … seconds after the fifth, and never more than the longest wait', () => {
    const clock = createClock()
    const tries = createTries(clock.now)
    fail(tries, 4, MARK)
    const waits: number[] = []
    for (let time = 0; time < 12; time++) {
      tries.begin([MARK])
      waits.push(waitOf(tries, MARK))
      clock.pass((waits.at(-1) ?? 0) * 1000)
    }
    expect(waits).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300])
  })

  it('that come while there is a wait do not make it longer', () => {
    const clock = createClock()
    const tries = createTries(clock.now)
    fail(tries, 5, MARK)
    for (let time = 0; time < 100; time++) expect(waitOf(tries, MARK)).toBe(1)
    clock.pass(1000)
    expect(waitOf(tries, MARK)).toBe(0)
  })

  it('make wait from the moment they are known', () => {
    const clock = createClock()
    const tries = createTries(clock.now)
    fail(tries, 4, MARK)
    const last = tries.begin([MARK])
    clock.pass(900)
    last.fail()
    clock.pass(900)
    expect(waitOf(tries, MARK)).toBe(1)
  })

  it('are forgotten after an hour', () => {
    const clock = createClock()
    const tries = createTries(clock.now)
    fail(tries, 4, MARK)
    clock.pass(3_600_000)
    fail(tries, 4, MARK)
    expect(waitOf(tries, MARK)).toBe(0)
  })

  it('are forgotten with the right password, but others by the same mark are not', () => {
    const tries = createTries(createClock().now)
    const [pair, address] = [MARK, { ...MARK, key: 'address' }]
    fail(tries, 3, pair, address)
    tries.begin([pair, address]).succeed()
    // Else an account of one's own would be a way to guess at others without end.
    tries.begin([{ ...MARK, key: 'own' }, address]).succeed()
    fail(tries, 2, { ...MARK, key: 'other' }, address)
    expect([waitOf(tries, address), waitOf(tries, pair)]).toEqual([1, 0])
  })

  it('do not count when nothing was compared', () => {
    const tries = createTries(createClock().now)
    for (let time = 0; time < 20; time++) tries.begin([MARK]).withdraw()
    fail(tries, 4, MARK)
    expect(waitOf(tries, MARK)).toBe(0)
  })

  it('are kept of a bounded number of marks, the latest', () => {
    const tries = createTries(createClock().now)
    fail(tries, 5, { ...MARK, key: 'first' })
    fail(tries, 5, MARK)
    for (let time = 0; time < 9999; time++) tries.begin([{ ...MARK, key: String(time) }])
    expect([waitOf(tries, MARK), waitOf(tries, { ...MARK, key: 'first' })]).toEqual([1, 0])
  })
})

describe('signing in', () => {
  const guessFromEverywhere = (tries: Tries, { toMarks }: ReturnType<typeof createSignInMarks>, times = 50) =>
    repeat(times, (time) => tries.begin(toMarks('ada', `203.0.113.${time}`)))
  const repeat = (times: number, work: (time: number) => unknown) => {
    for (let time = 0; time < times; time++) work(time)
  }

  it('waits for who guesses from many addresses, shortly', () => {
    const clock = createClock()
    const [tries, marks] = [createTries(clock.now), createSignInMarks()]
    guessFromEverywhere(tries, marks)
    expect(waitOf(tries, ...marks.toMarks('ada', '198.51.100.1'))).toBe(1)
    expect(waitOf(tries, ...marks.toMarks('bola', '198.51.100.1'))).toBe(0)
  })

  it('does not keep out a browser that has signed in before, and counts its own failures', () => {
    const [tries, marks] = [createTries(createClock().now), createSignInMarks()]
    const own = marks.toMarks('ada', '198.51.100.1', 'browser')
    repeat(5, () => tries.begin(marks.toMarks('ada', '198.51.100.1')))
    guessFromEverywhere(tries, marks, 45)
    expect(waitOf(tries, ...marks.toMarks('ada', '198.51.100.1'))).toBe(1)
    fail(tries, 4, ...own)
    expect(waitOf(tries, ...own)).toBe(0)
    expect(waitOf(tries, ...own)).toBe(1)
  })

  it('waits for who tries many names from one address', () => {
    const [tries, marks] = [createTries(createClock().now), createSignInMarks()]
    repeat(30, (time) => tries.begin(marks.toMarks(`name${time}`, '203.0.113.1')))
    expect(waitOf(tries, ...marks.toMarks('ada', '203.0.113.1'))).toBe(1)
    expect(waitOf(tries, ...marks.toMarks('ada', '203.0.113.2'))).toBe(0)
  })

  it('is free again for a name whose password was set anew', () => {
    const [tries, marks] = [createTries(createClock().now), createSignInMarks()]
    repeat(5, () => tries.begin(marks.toMarks('ada', '203.0.113.1')))
    tries.forgive(marks.isOf('ad'))
    expect(waitOf(tries, ...marks.toMarks('ada', '203.0.113.1'))).toBe(1)
    tries.forgive(marks.isOf('ada'))
    expect(waitOf(tries, ...marks.toMarks('ada', '203.0.113.1'))).toBe(0)
  })
})
