import { describe, expect, it } from 'vitest'
import { SourceError } from '../source.ts'
import { type Agreement, createPost, type Pass, type PostEvent, type Spending } from './call-guard.ts'
import { createAgreement } from './shared-state.ts'

const openPost = () => {
  let refunds = 0
  const refund = async () => {
    refunds += 1
  }
  const agreement: Agreement = { isDisabled: () => false, spend: async () => ({ refund }) }
  const events: PostEvent[] = []
  const clock = { ms: 0 }
  const options = { now: () => clock.ms, onEvent: (event: PostEvent) => void events.push(event) }
  const post = createPost('dojah', 'verify_nin', agreement, options)
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
    ;((await post.admit()) as Pass).settle(failure, 5)
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
    for (let call = 0; call < 3; call++) ((await post.admit()) as Pass).settle('found', 5)
    expect(events).toEqual([opened, { ...opened, state: 'closed' }])
  })

  it('takes a right to ask back that was not used, with its price', async () => {
    const { post, refunds } = openPost()
    ;((await post.admit()) as Pass).release()
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
        if (table.away) throw new Error('the store is away')
        written.push('refund')
      },
    }
    return table
  }
  const agree = (table: ReturnType<typeof openTable>) =>
    createAgreement({ table: table as never, prices: {}, node: 'here' })

  it('fails nobody, and is made up for with the next call', async () => {
    const table = openTable()
    const agreement = agree(table)
    const spending = (await agreement.spend('dojah')) as Spending
    table.away = true
    await spending.refund()
    expect(table.written).toEqual(['spend'])
    await agreement.spend('dojah')
    table.away = false
    await agreement.spend('dojah')
    await agreement.close()
    expect(table.written.filter((each) => each === 'refund')).toHaveLength(1)
  })

  it('is made up for at the end', async () => {
    const table = openTable()
    const agreement = agree(table)
    const spending = (await agreement.spend('dojah')) as Spending
    table.away = true
    await spending.refund()
    table.away = false
    await agreement.close()
    expect(table.written).toEqual(['spend', 'refund'])
  })
})
