import { afterEach, expect, it, vi } from 'vitest'
import { addUpAnswers, createAnswers, toAnswerSteps } from '../../src/statistics/answers.ts'
import { toPeriod } from '../../src/statistics/steps.ts'
import { describeEngines, ENGINES } from '../engines.ts'

const EVER = { from: '', mode: null } as const
afterEach(() => vi.useRealTimers())

describeEngines(ENGINES, ({ createPlace }) => {
  it('keeps what could not be written, in the minute in which it happened', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.parse('2026-11-17T02:59:00Z') })
    const store = await (await createPlace()).open()
    let isAway = true
    const setAnswers: typeof store.statistics.setAnswers = (counts) =>
      isAway ? Promise.reject(new Error('away')) : store.statistics.setAnswers(counts)
    const answers = createAnswers({ setAnswers }, 'one')
    answers.count('live', 'audit_unavailable')
    await answers.flush()
    vi.setSystemTime(Date.parse('2026-11-17T03:01:00Z'))
    answers.count('live', 'audit_unavailable')
    answers.count('live', 'verified')
    answers.count('test', 'verified')
    await answers.flush()
    expect(answers.list().filter(({ span }) => span === 'day')).toMatchObject([
      { code: 'audit_unavailable', count: 2, unwritten: 2, mode: 'live' },
      { code: 'verified', count: 1, unwritten: 1, mode: 'live' },
      { code: 'verified', count: 1, unwritten: 1, mode: 'test' },
    ])
    isAway = false
    await answers.close()
    // Written by now. Of the minutes, only the last are listed.
    vi.setSystemTime(Date.parse('2026-11-17T03:02:30Z'))
    const held = answers.list()
    expect(held.filter(({ unwritten }) => unwritten > 0)).toEqual([])
    const minutes = held.filter(({ span }) => span === 'minute')
    expect(new Set(minutes.map(({ at }) => at))).toEqual(new Set(['2026-11-17T03:01']))
    expect(held.filter(({ span }) => span === 'day').map(({ count }) => count)).toEqual([2, 1, 1])
    expect(await store.statistics.answers({ span: 'minute', ...EVER, mode: 'live' })).toEqual([
      { at: '2026-11-17T02:59', code: 'audit_unavailable', count: 1 },
      ...['audit_unavailable', 'verified'].map((code) => ({ at: '2026-11-17T03:01', code, count: 1 })),
    ])
    expect(await store.statistics.answers({ span: 'day', ...EVER })).toEqual([
      { at: '2026-11-17', code: 'audit_unavailable', count: 2 },
      { at: '2026-11-17', code: 'verified', count: 2 },
    ])
    await store.close()
  })

  it('counts nothing twice when a write was made although it failed, and adds up all processes', async () => {
    const store = await (await createPlace()).open()
    const setAnswers: typeof store.statistics.setAnswers = async (counts) => {
      await store.statistics.setAnswers(counts)
      throw new Error('no answer in time')
    }
    const doubtful = createAnswers({ setAnswers }, 'one')
    const other = createAnswers(store.statistics, 'two')
    for (let round = 0; round < 3; round++) {
      doubtful.count('live', 'rate_limited')
      other.count('live', 'rate_limited')
      await Promise.all([doubtful.flush(), other.flush()])
    }
    expect(await store.statistics.answers({ span: 'day', ...EVER })).toMatchObject([
      { code: 'rate_limited', count: 6 },
    ])
    await Promise.all([doubtful.close(), other.close()])
    await store.statistics.deleteExpired({ minute: '9', hour: '9', day: '9' })
    expect(await store.statistics.answers({ span: 'day', ...EVER })).toEqual([])
    await store.close()
  })

  it('goes on with the number so far when the clock is set back', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.parse('2026-11-17T02:59:59Z') })
    const store = await (await createPlace()).open()
    const answers = createAnswers(store.statistics, 'one')
    for (const time of ['02:59:59', '03:00:01', '02:59:58']) {
      vi.setSystemTime(Date.parse(`2026-11-17T${time}Z`))
      answers.count('live', 'verified')
      await answers.flush()
    }
    expect(await store.statistics.answers({ span: 'minute', ...EVER })).toMatchObject([
      { at: '2026-11-17T02:59', count: 2 },
      { at: '2026-11-17T03:00', count: 1 },
    ])
    await answers.close()
    await store.close()
  })
})

it('every code has a kind: answers, limits, refusals, failures, and callers that went away', () => {
  const codes = {
    verified: ['verified'],
    not_verified: ['not_verified'],
    pending: ['pending'],
    limited: ['rate_limited', 'quota_exceeded', 'too_many_attempts'],
    refused: [
      'validation_failed',
      'forbidden',
      'unauthenticated',
      'idempotency_in_progress',
      'of a later version',
    ],
    failed: ['audit_unavailable', 'overloaded', 'source_timeout', 'source_bad_response', 'internal_error'],
    broken_off: ['aborted'],
  }
  for (const [kind, list] of Object.entries(codes))
    for (const code of list)
      expect([code, addUpAnswers([{ code, count: 2 }])]).toMatchObject([code, { [kind]: 2 }])
})

it('every span of a period has its numbers', () => {
  const period = toPeriod('hour', Date.parse('2026-11-17T03:00:30Z'))
  const steps = toAnswerSteps(period, [
    { at: '2026-11-17T02:59', code: 'overloaded', count: 3 },
    { at: '2026-11-17T01:59', code: 'overloaded', count: 5 },
  ])
  expect(steps.map(({ failed }) => failed)).toEqual([...Array(58).fill(0), 3, 0])
})
