import { describe, expect, it } from 'vitest'
import { SourceError } from '../source.ts'
import {
  createCallGuard,
  type GuardEvent,
  type Permit,
  type SharedState,
  type Spending,
} from './call-guard.ts'
import { createSharedState } from './shared-state.ts'

const openPost = () => {
  let refunds = 0
  const refund = async () => {
    refunds += 1
  }
  const sharedState: SharedState = { isDisabled: () => false, spend: async () => ({ refund }) }
  const events: GuardEvent[] = []
  const clock = { ms: 0 }
  const options = { now: () => clock.ms, onEvent: (event: GuardEvent) => void events.push(event) }
  const post = createCallGuard('dojah', 'verify_nin', sharedState, options)
  return { post, clock, events, refunds: () => refunds }
}

async function settleOften(failure: SourceError) {
  const opened = openPost()
  for (let call = 0; call < 40; call++) {
    const pass = await opened.post.admit()
    if (typeof pass !== 'string') pass.settle(failure, 5)
  }
  return opened
}

describe('a post', () => {
  it('counts a failure against the source', async () => {
    const { post } = await settleOften(new SourceError('dojah', 'unreachable'))
    expect(post.read()).toMatchObject({ state: 'open', failures: 5 })
  })

  it('does not count a question that the vendor did not like, but shows it', async () => {
    const { post } = await settleOften(new SourceError('dojah', 'bad_response', { fault: 'question' }))
    expect(post.read()).toMatchObject({ state: 'closed', failures: 40 })
  })

  it('does not count what our deadline cut short, nor show it', async () => {
    const { post, refunds } = await settleOften(new SourceError('dojah', 'timeout', { fault: 'deadline' }))
    expect(post.read()).toMatchObject({ state: 'closed', calls: 0 })
    expect(refunds()).toBe(0)
  })

  it('does not ask before the time that the vendor wants, for any of its operations', async () => {
    const { post, clock, refunds } = openPost()
    const failure = new SourceError('dojah', 'throttled', { retryAfterMs: 60_000 })
    ;((await post.admit()) as Permit).settle(failure, 5)
    expect([await post.admit(), post.retryAfterMs()]).toEqual(['retry_after', 60_000])
    expect(post.read().warnings).toEqual(['throttled'])
    clock.ms = 60_000
    expect(await post.admit()).toMatchObject({ settle: expect.any(Function) })
    expect(refunds()).toBe(1)
  })

  it('tells once that the breaker opened, with the trouble, and once that it closed', async () => {
    const { post, clock, events } = await settleOften(
      new SourceError('dojah', 'bad_response', { trouble: 'redirected' }),
    )
    const opened = { event: 'source_breaker', state: 'open', reason: 'redirected' }
    expect(events).toEqual([opened])
    expect(post.failures()).toEqual(new Map([['redirected', 5]]))
    clock.ms = 10_000
    for (let call = 0; call < 3; call++) ((await post.admit()) as Permit).settle('found', 5)
    expect(events).toEqual([opened, { ...opened, state: 'closed' }])
  })

  it('takes a right to ask back that was not used, with its price', async () => {
    const { post, refunds } = openPost()
    ;((await post.admit()) as Permit).release()
    expect(refunds()).toBe(1)
    expect(post.read()).toMatchObject({ state: 'closed', calls: 0 })
  })
})

describe('a refund that fails', () => {
  const openTable = () => {
    const written: string[] = []
    const table = {
      away: false,
      written,
      spend: async () => {
        written.push('spend')
        return 'admitted'
      },
      refund: async () => {
        if (table.away) throw new Error('store unavailable')
        written.push('refund')
      },
    }
    return table
  }
  const agree = (table: ReturnType<typeof openTable>) =>
    createSharedState({ table: table as never, prices: {}, node: 'here' })

  it('fails nobody, and is made up for with the next call', async () => {
    const table = openTable()
    const sharedState = agree(table)
    const spending = (await sharedState.spend('dojah')) as Spending
    table.away = true
    await spending.refund()
    expect(table.written).toEqual(['spend'])
    await sharedState.spend('dojah')
    table.away = false
    await sharedState.spend('dojah')
    await sharedState.close()
    expect(table.written.filter((each) => each === 'refund')).toHaveLength(1)
  })

  it('is made up for at the end', async () => {
    const table = openTable()
    const sharedState = agree(table)
    const spending = (await sharedState.spend('dojah')) as Spending
    table.away = true
    await spending.refund()
    table.away = false
    await sharedState.close()
    expect(table.written).toEqual(['spend', 'refund'])
  })
})
