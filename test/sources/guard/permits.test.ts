import { describe, expect, it } from 'vitest'
import {
  createCallGuard,
  type GuardEvent,
  type Pay,
  type Permit,
  type SkipReason,
} from '../../../src/sources/guard/call-guard.ts'
import { type Connections, createConnections } from '../../../src/sources/guard/connections.ts'
import { SourceError, type SourceFailure } from '../../../src/sources/source.ts'

/** A guard with a clock, a kill switch and a purse of its own. */
function openGuard(connections: Connections = createConnections(1, 1)) {
  const clock = { ms: 0 }
  const events: GuardEvent[] = []
  const ended: unknown[] = []
  const state = { isDisabled: false, paid: 0, refunded: 0 }
  const guard = createCallGuard(
    'dojah',
    'verify_nin',
    { isDisabled: () => state.isDisabled },
    {
      connections,
      now: () => clock.ms,
      onEvent: (event) => events.push(event),
      onCall: (call) => ended.push(call),
    },
  )
  const pay: Pay = async () => {
    state.paid += 1
    return {
      refund: () => {
        state.refunded += 1
      },
    }
  }
  const ask = (person = '', payWith = pay) => guard.admit({ pay: payWith, person, lineage: 'key' })
  const call = async (outcome: 'found' | 'not_found' | SourceError, person = '') =>
    ((await ask(person)) as Permit).settle(outcome, 5)
  /** Five failures of different people open the breaker. */
  const open = async () => {
    for (const person of ['a', 'b', 'c', 'd', 'e']) await call(failure('unreachable'), person)
    expect(guard.read().state).toBe('open')
  }
  /** The same, and the time of the first probe has come. */
  const awaitProbe = async () => {
    await open()
    clock.ms += 10_000
    expect(guard.read().state).toBe('half_open')
  }
  return { guard, clock, events, ended, state, ask, call, open, awaitProbe }
}

const failure = (
  reason: SourceFailure,
  options: ConstructorParameters<typeof SourceError>[2] = {},
): SourceError => new SourceError('dojah', reason, options)

describe('a source that is not called', () => {
  it('is one that the operator has disabled: nothing is paid, and it is neither down nor about to return', async () => {
    const { guard, state, ask, open } = openGuard()
    await open()
    expect(guard.read().down).toBe(true)
    state.isDisabled = true
    state.paid = 0
    expect(await ask()).toBe('disabled')
    expect(guard.isAvailable()).toBe(false)
    expect(guard.retryAfterMs()).toBeUndefined()
    expect(guard.read()).toMatchObject({ state: 'disabled', down: false, skipped: 0 })
    expect(state.paid).toBe(0)
  })

  it('is one that asked for a pause, to its last millisecond', async () => {
    const { guard, clock, state, ask, call } = openGuard()
    expect([guard.isAvailable(), guard.retryAfterMs(), guard.read().warnings]).toEqual([true, 0, []])
    await call(failure('throttled', { retryAfterMs: 1000 }))
    clock.ms = 999
    expect(await ask()).toBe('retry_after')
    expect([guard.isAvailable(), guard.retryAfterMs()]).toEqual([false, 1])
    expect(guard.read()).toMatchObject({ warnings: ['throttled'], skipped: 1 })
    expect(state.paid).toBe(1)
    clock.ms = 1000
    expect([guard.isAvailable(), guard.retryAfterMs(), guard.read().warnings]).toEqual([true, 0, []])
    expect(await ask()).toMatchObject({ release: expect.any(Function) })
  })

  it('is one that keeps failing, until the time of a probe', async () => {
    const { guard, clock, state, ask, open } = openGuard()
    await open()
    expect(guard.isAvailable()).toBe(false)
    expect(await ask()).toBe('breaker_open')
    expect([state.paid, guard.read().skipped]).toEqual([5, 1])
    clock.ms += 10_000
    expect(guard.isAvailable()).toBe(true)
  })

  it('is one for which all our connections are in use: that is not a problem of the source', async () => {
    const { guard, state, ask } = openGuard()
    const first = (await ask()) as Permit
    expect(await ask()).toBe('busy')
    expect([state.paid, guard.read().skipped]).toEqual([1, 0])
    first.settle('found', 5)
    const second = (await ask()) as Permit
    second.release()
    expect(await ask()).toMatchObject({ release: expect.any(Function) })
  })

  it.each(['spend_cap', 'paid_calls'] as const)(
    'is one for which no money is left (%s): connection and probe are free for the next',
    async (reason) => {
      const { guard, ask, awaitProbe } = openGuard()
      expect(await ask('', async () => reason)).toBe(reason)
      await awaitProbe()
      expect(await ask('', async () => reason)).toBe(reason)
      expect(guard.read()).toMatchObject({ state: 'half_open', skipped: 0, calls: 5 })
      for (let probe = 0; probe < 3; probe++) ((await ask()) as Permit).settle('found', 5)
      expect(guard.read().state).toBe('closed')
    },
  )

  it('is one whose price cannot be written: the error is passed on, connection and probe are free', async () => {
    const { guard, ask, awaitProbe } = openGuard()
    const broken = async () => {
      throw new Error('store unavailable')
    }
    await expect(ask('', broken)).rejects.toThrow('store unavailable')
    await awaitProbe()
    await expect(ask('', broken)).rejects.toThrow('store unavailable')
    expect(await ask()).toMatchObject({ settle: expect.any(Function) })
    expect(guard.read().calls).toBe(5)
  })

  it.each([
    ['asked for a pause', failure('throttled', { retryAfterMs: 60_000 }), 'retry_after'],
    ['was disabled', 'disable', 'disabled'],
  ] as const)('is one that %s while the caller waited for a connection', async (_, event, reason) => {
    const connections = createConnections(1, 60_000)
    const { state, ask } = openGuard(connections)
    const first = (await ask()) as Permit
    const waiting = ask()
    expect(connections.read()).toEqual({ inUse: 1, waiting: 1 })
    if (event === 'disable') {
      state.isDisabled = true
      first.settle('found', 5)
    } else first.settle(event, 5)
    expect(await waiting).toBe(reason)
    expect([state.paid, connections.read().inUse]).toEqual([1, 0])
  })

  it('is one whose probe is under way: there is only one at a time', async () => {
    const { state, ask, awaitProbe } = openGuard(createConnections(2, 1))
    await awaitProbe()
    await ask()
    const answer: Permit | SkipReason = await ask()
    expect(answer).toBe('breaker_open')
    expect(state.paid).toBe(6)
  })
})

describe('a call that has ended', () => {
  it.each([
    ['found', 'answered', true],
    ['not_found', 'answered', true],
    [failure('bad_response'), 'failed', true],
    [failure('timeout'), 'failed', true],
    [failure('unreachable'), 'failed', true],
    [failure('unreachable', { sent: false }), 'failed', false],
    [failure('refused'), 'failed', false],
    [failure('throttled'), 'failed', false],
    [failure('timeout', { fault: 'deadline' }), 'cut', true],
    [failure('timeout', { fault: 'deadline', sent: false }), 'cut', false],
  ] as const)('with %s is %s; paid for: %s', async (outcome, result, isPaid) => {
    const { state, ended, call } = openGuard()
    await call(outcome)
    expect(ended).toEqual([{ result, ms: 5, isPaid }])
    expect(state).toMatchObject({ paid: 1, refunded: isPaid ? 0 : 1 })
  })

  it('is counted by its problem, or else by its reason', async () => {
    const { guard, call } = openGuard()
    await call(failure('bad_response'))
    await call(failure('bad_response', { problem: 'redirected' }))
    expect(guard.failures()).toEqual(
      new Map([
        ['bad_response', 1],
        ['redirected', 1],
      ]),
    )
  })

  it('warns the operator of a problem that only they can fix', async () => {
    const { events, guard, call } = openGuard()
    await call(failure('refused', { problem: 'funds' }))
    expect(events).toEqual([{ event: 'source_warning', reason: 'no_funds', state: 'started' }])
    expect(guard.read().warnings).toEqual(['no_funds'])
  })

  it.each([
    ['the problem', { problem: 'redirected' }, 'redirected'],
    ['the reason', {}, 'bad_response'],
  ] as const)('opens the breaker with %s of the last failure', async (_, options, reason) => {
    const { events, call } = openGuard()
    for (const person of ['a', 'b', 'c', 'd', 'e']) await call(failure('bad_response', options), person)
    expect(events).toEqual([{ event: 'source_breaker', reason, state: 'open' }])
  })
})

describe('a call that hangs', () => {
  const timeout = failure('timeout', { problem: 'too_slow' })

  it('counts once, however often it is reported; three open the breaker', async () => {
    const { guard, events, ask } = openGuard(createConnections(9))
    for (const person of ['a', 'b']) {
      const permit = (await ask(person)) as Permit
      permit.recordHang()
      permit.recordHang()
      permit.settle(timeout, 8000)
    }
    expect(guard.read().state).toBe('closed')
    ;((await ask('c')) as Permit).recordHang()
    expect(guard.read().state).toBe('open')
    expect(events).toEqual([{ event: 'source_breaker', reason: 'too_slow', state: 'open' }])
  })

  it('counts when it times out, also if nobody waited for it', async () => {
    const { guard, call } = openGuard()
    for (const person of ['a', 'b']) await call(timeout, person)
    expect(guard.read().state).toBe('closed')
    await call(timeout, 'c')
    expect(guard.read().state).toBe('open')
  })

  it('does not count when our own deadline cut it, nor when it fails with an error', async () => {
    const { guard, call } = openGuard()
    for (const person of ['a', 'b', 'c', 'd']) await call(failure('timeout', { fault: 'deadline' }), person)
    for (const person of ['e', 'f', 'g', 'h']) await call(failure('bad_response'), person)
    expect(guard.read().state).toBe('closed')
  })

  it('does not count as a probe before it has ended', async () => {
    const { guard, ask, awaitProbe } = openGuard()
    await awaitProbe()
    const probe = (await ask()) as Permit
    probe.recordHang()
    expect(guard.read().state).toBe('half_open')
    probe.settle('found', 5)
    for (let more = 0; more < 2; more++) ((await ask()) as Permit).settle('found', 5)
    expect(guard.read().state).toBe('closed')
  })

  it('about nobody in particular counts each time', async () => {
    const { guard, ask } = openGuard(createConnections(9))
    for (let hang = 0; hang < 3; hang++) ((await ask()) as Permit).recordHang()
    expect(guard.read().state).toBe('open')
  })

  it('about one person counts again after the source has answered', async () => {
    const { guard, ask, call } = openGuard(createConnections(9))
    const hang = async (person: string) => ((await ask(person)) as Permit).recordHang()
    await hang('a')
    await call('found', 'b')
    for (const person of ['c', 'a']) await hang(person)
    expect(guard.read().state).toBe('closed')
    await hang('d')
    expect(guard.read().state).toBe('open')
  })
})

describe('the next source is asked as well', () => {
  it('after two seconds, as long as the usual time is unknown', async () => {
    const { clock, ask } = openGuard()
    const permit = (await ask()) as Permit
    expect(permit.hedgeAfterMs()).toBe(2000)
    clock.ms = 2001
    expect(permit.hedgeAfterMs()).toBe(-1)
  })

  it('later, while the source answers others, also with errors; not after a call without an answer', async () => {
    const { clock, ask, call } = openGuard(createConnections(9))
    const slow = (await ask('a')) as Permit
    clock.ms = 1500
    await call(failure('timeout', { fault: 'request' }), 'b')
    expect(slow.hedgeAfterMs()).toBe(500)
    await call(failure('bad_response', { fault: 'request' }), 'c')
    expect(slow.hedgeAfterMs()).toBe(2000)
  })

  it('after four times the usual time', async () => {
    const { ask } = openGuard()
    for (let call = 0; call < 5; call++) ((await ask()) as Permit).settle('found', 500)
    expect(((await ask()) as Permit).hedgeAfterMs()).toBe(2000)
    const { ask: askOther } = openGuard()
    for (let call = 0; call < 5; call++) ((await askOther()) as Permit).settle('found', 300)
    expect(((await askOther()) as Permit).hedgeAfterMs()).toBe(1200)
  })

  it('sooner, when the last call has hung', async () => {
    const { ask } = openGuard(createConnections(2))
    ;((await ask('a')) as Permit).recordHang()
    expect(((await ask('b')) as Permit).hedgeAfterMs()).toBe(1000)
  })

  it('200 ms after a probe', async () => {
    const { clock, ask, awaitProbe } = openGuard()
    await awaitProbe()
    const probe = (await ask()) as Permit
    clock.ms += 150
    expect(probe.hedgeAfterMs()).toBe(50)
  })
})

describe('a failing person', () => {
  it('counts once in a row of failures, and again thirty seconds later', async () => {
    const { guard, clock, call } = openGuard()
    const fail = (person: string) => call(failure('unreachable'), person)
    for (const person of ['a', 'a', 'a', 'b', 'c', 'd']) await fail(person)
    expect(guard.read().state).toBe('closed')
    await call('found', 'x')
    clock.ms = 29_999
    await call('found', 'x')
    for (const person of ['a', 'e', 'f', 'g', 'h']) await fail(person)
    expect(guard.read().state).toBe('closed')
    clock.ms = 30_000
    await call('found', 'x')
    for (const person of ['a', 'b', 'c', 'd', 'i']) await fail(person)
    expect(guard.read().state).toBe('open')
  })
})

describe('a source that leaves requests without an answer', () => {
  it('is down from a half of them on, and until it is less than a quarter', async () => {
    const { guard, call } = openGuard()
    const answer = async (times: number) => {
      for (let count = 0; count < times; count++) await call('found')
    }
    for (const person of ['a', 'b', 'c', 'd']) await call(failure('unreachable'), person)
    await answer(1)
    expect(guard.read()).toMatchObject({ unanswered: 4, down: false })
    await call(failure('unreachable'), 'e')
    expect(guard.read()).toMatchObject({ unanswered: 5, down: true })
    await answer(14)
    expect(guard.read()).toMatchObject({ unansweredRate: 0.25, down: true })
    await answer(1)
    expect(guard.read().down).toBe(false)
    await call(failure('unreachable'), 'f')
    expect(guard.read()).toMatchObject({ unanswered: 6, down: false })
  })
})
