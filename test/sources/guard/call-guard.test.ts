import { describe, expect, it } from 'vitest'
import {
  createCallGuard,
  type GuardEvent,
  type Permit,
  type SharedState,
} from '../../../src/sources/guard/call-guard.ts'
import { SourceError } from '../../../src/sources/source.ts'

const openGuard = () => {
  let refunds = 0
  const refund = () => {
    refunds += 1
  }
  const sharedState: SharedState = { isDisabled: () => false }
  const events: GuardEvent[] = []
  const clock = { ms: 0 }
  const options = { now: () => clock.ms, onEvent: (event: GuardEvent) => void events.push(event) }
  const opened = createCallGuard('dojah', 'verify_nin', sharedState, options)
  const admit = (call: { readonly person?: string } = {}) =>
    opened.admit({ pay: async () => ({ refund }), lineage: 'key', ...call })
  const guard = { ...opened, admit }
  return { guard, clock, events, refunds: () => refunds }
}

type Opened = ReturnType<typeof openGuard>

async function settleOften(failure: SourceError) {
  const opened = openGuard()
  for (let call = 0; call < 40; call++) {
    const permit = await opened.guard.admit()
    if (typeof permit !== 'string') permit.settle(failure, 5)
  }
  return opened
}

describe('a call guard', () => {
  it('counts a failure against the source', async () => {
    const { guard } = await settleOften(new SourceError('dojah', 'unreachable'))
    expect(guard.read()).toMatchObject({ state: 'open', failures: 5 })
  })

  it('does not count a request that the vendor rejected, but shows it', async () => {
    const { guard } = await settleOften(new SourceError('dojah', 'bad_response', { fault: 'request' }))
    expect(guard.read()).toMatchObject({ state: 'closed', failures: 40 })
  })

  it('neither counts nor shows a call that our own deadline cut short', async () => {
    const { guard, refunds } = await settleOften(new SourceError('dojah', 'timeout', { fault: 'deadline' }))
    expect(guard.read()).toMatchObject({ state: 'closed', calls: 0 })
    expect(refunds()).toBe(0)
  })

  it('makes no call before the Retry-After of the vendor is over', async () => {
    const { guard, clock, refunds } = openGuard()
    const failure = new SourceError('dojah', 'throttled', { retryAfterMs: 60_000 })
    ;((await guard.admit()) as Permit).settle(failure, 5)
    expect([await guard.admit(), guard.retryAfterMs()]).toEqual(['retry_after', 60_000])
    expect(guard.read().warnings).toEqual(['throttled'])
    clock.ms = 60_000
    expect(await guard.admit()).toMatchObject({ settle: expect.any(Function) })
    expect(refunds()).toBe(1)
  })

  it('reports once that the breaker opened, with the problem, and once that it closed', async () => {
    const { guard, clock, events } = await settleOften(
      new SourceError('dojah', 'bad_response', { problem: 'redirected' }),
    )
    const opened = { event: 'source_breaker', state: 'open', reason: 'redirected' }
    expect(events).toEqual([opened])
    expect(guard.failures()).toEqual(new Map([['redirected', 5]]))
    clock.ms = 10_000
    for (let call = 0; call < 3; call++) ((await guard.admit()) as Permit).settle('found', 5)
    expect(events).toEqual([opened, { ...opened, state: 'closed' }])
  })

  it('is down from the opening of the breaker until it has closed again, also between two probes', async () => {
    const { guard, clock } = await settleOften(new SourceError('dojah', 'unreachable'))
    expect(guard.read()).toMatchObject({ state: 'open', down: true, unanswered: 40, unansweredRate: 1 })
    clock.ms = 10 * 60_000
    expect(guard.read()).toMatchObject({ state: 'half_open', down: true, unanswered: 0 })
    for (let call = 0; call < 3; call++) ((await guard.admit()) as Permit).settle('found', 5)
    expect(guard.read()).toMatchObject({ state: 'closed', down: false })
  })

  it('is down while half of the requests get no answer, although the breaker is closed', async () => {
    const { guard, clock } = openGuard()
    const settle = async (times: number, outcome: 'found' | SourceError) => {
      for (let call = 0; call < times; call++) ((await guard.admit()) as Permit).settle(outcome, 5)
    }
    const failure = new SourceError('dojah', 'unreachable')
    for (let call = 0; call < 4; call++) await settle(1, failure)
    await settle(4, 'found')
    expect(guard.read()).toMatchObject({ state: 'closed', down: false })
    await settle(1, failure)
    expect(guard.read()).toMatchObject({ state: 'closed', down: true })
    await settle(6, 'found')
    expect(guard.read()).toMatchObject({ unansweredRate: 1 / 3, down: true })
    await settle(6, 'found')
    expect(guard.read().down).toBe(false)
    clock.ms += 60_000
  })

  it('counts the hanging calls about one person once, and those about three people', async () => {
    const hang = async ({ admit }: Opened['guard'], person: string) => {
      const permit = (await admit({ person })) as Permit
      permit.recordHang()
      permit.settle(new SourceError('dojah', 'timeout', { problem: 'too_slow' }), 8000)
    }
    const { guard } = openGuard()
    for (let call = 0; call < 30; call++) await hang(guard, 'a')
    expect(guard.read().state).toBe('closed')
    for (const person of ['b', 'c']) await hang(guard, person)
    expect(guard.read().state).toBe('open')
  })

  it('does not take the same failed probe of one person as a verdict', async () => {
    const { guard, clock } = openGuard()
    const failure = new SourceError('dojah', 'unreachable', { problem: 'vendor_failed' })
    const ask = async (person: string, outcome: 'found' | SourceError) => {
      ;((await guard.admit({ person })) as Permit).settle(outcome, 5)
    }
    for (const person of ['a', 'b', 'c', 'd', 'e']) await ask(person, failure)
    expect(guard.read().state).toBe('open')
    clock.ms = 10_000
    for (const person of ['x', 'y', 'z']) {
      await ask('a', failure)
      await ask(person, 'found')
    }
    expect(guard.read().state).toBe('closed')
  })

  it('counts every request that was never sent', async () => {
    const { guard } = openGuard()
    const failure = new SourceError('dojah', 'unreachable', { problem: 'no_connection', sent: false })
    for (let call = 0; call < 5; call++) ((await guard.admit({ person: 'a' })) as Permit).settle(failure, 5)
    expect(guard.read().state).toBe('open')
  })

  it('refunds a permit that is released', async () => {
    const { guard, refunds } = openGuard()
    ;((await guard.admit()) as Permit).release()
    expect(refunds()).toBe(1)
    expect(guard.read()).toMatchObject({ state: 'closed', calls: 0 })
  })
})
