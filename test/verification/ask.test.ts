import { describe, expect, it } from 'vitest'
import { AppError } from '../../src/errors.ts'
import { NotBegun } from '../../src/sources/failover.ts'
import { toNinRecord } from '../../src/sources/sandbox/nin-record.ts'
import { createSeen } from '../../src/sources/seen.ts'
import { askAndMatch, requireSource, toKept } from '../../src/verification/ask.ts'
import { NIN } from '../../src/verification/id-type.ts'

const NUMBER = '41000000001'
const VIRTUAL = 'AB012345678910YZ'
const PHONE = '8031234567'
const record = toNinRecord(NUMBER, PHONE)
const OTHER_PHONE = '8039999999'

type Shared = {
  readonly question: readonly string[]
  readonly queries: readonly { name: string; query: (traceparent?: string) => Promise<unknown> }[]
  readonly options: {
    readonly continueOnNotFound: boolean
    readonly person: string
    readonly secrets: readonly string[]
    readonly matches: (record: unknown) => boolean
    readonly begin: () => Promise<void>
    readonly pay: (name: string) => Promise<unknown>
    readonly signal: AbortSignal
  }
}

type Wish = {
  readonly request?: object
  readonly askNext?: boolean
  readonly answer?: object | Error
  /** What an earlier verification left. */
  readonly reused?: object
  readonly sources?: readonly object[]
  readonly place?: object
  readonly pay?: (name: string) => Promise<unknown>
  readonly budget?: object
}

/** A verification, and what the sources were asked. */
function open(wish: Wish = {}) {
  const shared: Shared[] = []
  const calls: unknown[] = []
  const asked: string[] = []
  const findNin = async (query: unknown, call: object) => void calls.push([query, Object.keys(call)])
  const sources = (wish.sources ?? [{ name: 'dojah', isExternal: true, acceptsVirtualNin: true }]).map(
    (source) => ({ source: { findNin, ...source } }),
  )
  const request = {
    ...{ number: NUMBER, phone: PHONE, refusesReuse: false, startedAt: performance.now(), place: wish.place },
    caller: { mode: 'live', lineage: 'first', hidden: [] },
    ...wish.request,
  }
  const mode = (request.caller as { mode: 'live' }).mode
  const verification = {
    deps: {
      askNext: wish.askNext ?? false,
      sources: { [mode]: { nin: sources } },
      reuse: wish.reused && {
        find: async (_kind: string, number: string) => {
          asked.push(number)
          return 'record' in (wish.reused as object) ? wish.reused : undefined
        },
        toKept: (kind: string, number: string, { source }: { source: string }) =>
          `${kind} ${number} ${source}`,
      },
      singleFlight: {
        share: async (
          question: readonly string[],
          queries: Shared['queries'],
          options: Shared['options'],
        ) => {
          shared.push({ question, queries, options })
          const answer = wish.answer ?? { found: true, record }
          if (answer instanceof Error) throw answer
          return answer
        },
      },
    },
    ...{
      idType: NIN,
      request,
      reference: 'ver_1',
      paid: { calls: 0 },
      sources,
      sourceAttempts: [] as object[],
      seen: createSeen(),
    },
    budget: wish.budget,
  }
  const began: string[] = []
  const commits = {
    begin: async () => void began.push('begin'),
    pay: wish.pay ?? (async () => ({ refund: () => began.push('refund') })),
  }
  const ask = () => askAndMatch(verification as never, commits as never)
  return { ask, shared, calls, asked, began, verification }
}

describe('the sources', () => {
  it('are asked once for identical requests of one key, with what must not be logged', async () => {
    const { ask, shared } = open()
    expect(await ask()).toEqual({ outcome: 'verified', record })
    expect(shared[0]?.question).toEqual(['first', 'nin', NUMBER, PHONE])
    expect(shared[0]?.options).toMatchObject({
      person: NUMBER,
      secrets: [NUMBER, PHONE],
      continueOnNotFound: false,
    })
    const virtual = open({ request: { number: VIRTUAL } })
    await virtual.ask()
    expect(virtual.shared[0]?.options.secrets).toEqual(['012345678910', PHONE])
  })

  it('are asked one after another when one does not know the number, if that is set or the NIN is virtual', async () => {
    for (const [wish, expected] of [
      [{ askNext: true }, true],
      [{ request: { number: VIRTUAL } }, true],
      [{}, false],
    ] as const) {
      const { ask, shared } = open(wish)
      await ask()
      expect(shared[0]?.options.continueOnNotFound).toBe(expected)
    }
  })

  it('are those that offer the operation, each with the reference and the trace of the request', async () => {
    const { ask, shared, calls } = open({
      sources: [{ name: 'a' }, { name: 'b', findNin: undefined }, { name: 'c' }],
    })
    await ask()
    expect(shared[0]?.queries.map(({ name }) => name)).toEqual(['a', 'c'])
    await shared[0]?.queries[0]?.query()
    await shared[0]?.queries[0]?.query('00-1')
    expect(calls).toEqual([
      [{ nin: NUMBER, phone: PHONE, details: undefined }, ['signal', 'reference']],
      [{ nin: NUMBER, phone: PHONE, details: undefined }, ['signal', 'reference', 'traceparent']],
    ])
  })

  it('may say whether the record has the phone', async () => {
    const { ask, shared } = open()
    await ask()
    expect(shared[0]?.options.matches(record)).toBe(true)
    expect(shared[0]?.options.matches(toNinRecord(NUMBER, OTHER_PHONE))).toBe(false)
  })

  it('are not asked when no time is left', async () => {
    const { ask, shared } = open({ request: { startedAt: performance.now() - 3_600_000 } })
    expect(await ask()).toMatchObject({ outcome: 'source_timeout' })
    expect(shared).toEqual([])
    const early = open({ request: { startedAt: performance.now() - 1000 } })
    expect(await early.ask()).toMatchObject({ outcome: 'verified' })
  })
})

describe('what the sources fail with', () => {
  it('is the outcome of the verification, unless it must not begin', async () => {
    const error = new AppError('source_unavailable')
    expect(await open({ answer: error }).ask()).toEqual({ outcome: 'source_unavailable', error })
    const mistake = new TypeError('a mistake')
    expect(await open({ answer: mistake }).ask()).toEqual({ outcome: 'internal_error', error: mistake })
    const refused = new NotBegun(new AppError('too_many_attempts'))
    await expect(open({ answer: refused }).ask()).rejects.toBe(refused)
  })

  it('says when the paid calls are used up', async () => {
    const budget = { used: 3, most: 3, lastFailure: undefined }
    expect(await open({ answer: new AppError('source_timeout'), budget }).ask()).toMatchObject({
      error: { paidCallsUsedUp: true },
    })
  })
})

describe('a caller that waits', () => {
  const toPlace = (notes: string[], fails = false) => ({
    whileWaiting: (work: () => unknown) => {
      notes.push('wait')
      return work()
    },
    beforePaying: async (work: () => Promise<unknown>) => {
      notes.push('before paying')
      if (fails) throw new AppError('overloaded')
      return work()
    },
  })

  it('waits for the begin and for money only as long as it may', async () => {
    const notes: string[] = []
    const { ask, shared, began } = open({ place: toPlace(notes) })
    await ask()
    await shared[0]?.options.begin()
    expect(await shared[0]?.options.pay('dojah')).toHaveProperty('refund')
    expect([notes, began]).toEqual([['wait', 'before paying', 'before paying'], ['begin']])
  })

  it('gets back the money that is paid too late', async () => {
    const { ask, shared, began } = open({ place: toPlace([], true) })
    await ask()
    await expect(shared[0]?.options.pay('dojah')).rejects.toHaveProperty('code', 'overloaded')
    await new Promise((next) => setImmediate(next))
    expect(began).toEqual(['refund'])
  })

  it.each([
    ['none was paid', async () => 'spend_cap'],
    ['paying fails too', () => Promise.reject(new Error('lost'))],
  ])('fails alike where %s', async (_name, pay) => {
    const { ask, shared } = open({ place: toPlace([], true), pay })
    await ask()
    await expect(shared[0]?.options.pay('dojah')).rejects.toHaveProperty('code', 'overloaded')
    await new Promise((next) => setImmediate(next))
  })
})

describe('an earlier result', () => {
  const reused = { record, source: 'dojah' }

  it('is used for the same phone, and the sources are not asked', async () => {
    const { ask, shared, verification, asked } = open({ reused })
    expect(await ask()).toEqual({ outcome: 'verified', record })
    expect([shared, asked]).toEqual([[], [NUMBER]])
    expect(verification.sourceAttempts).toMatchObject([
      { name: 'dojah', result: 'reused', ms: expect.any(Number) },
    ])
  })

  it.each<[string, Wish, number]>([
    ['there is none', { reused: {} }, 1],
    ['its phone is another one', { reused: { ...reused, record: toNinRecord(NUMBER, OTHER_PHONE) } }, 1],
    ['the client refuses it', { reused, request: { refusesReuse: true } }, 0],
    ['the key is a test key', { reused, request: { caller: { mode: 'test', lineage: 'x', hidden: [] } } }, 0],
    ['the NIN is virtual', { reused, request: { number: VIRTUAL } }, 0],
  ])('is not used where %s', async (_name, wish, looks) => {
    const { ask, shared, asked, verification } = open(wish)
    await ask()
    expect([shared.length, asked.length, verification.sourceAttempts.length]).toEqual([1, looks, 0])
  })

  it('is kept of the external source that verified the person', () => {
    const verified = { outcome: 'verified', record } as const
    const keep = (wish: Wish, attempts: readonly object[], decision: object = verified) => {
      const { verification } = open({ reused, ...wish })
      verification.sourceAttempts.push(...attempts)
      return toKept(verification as never, decision as never)
    }
    const found = [
      { name: 'other', result: 'timeout' },
      { name: 'dojah', result: 'found' },
    ]
    expect(keep({}, found)).toBe(`nin ${NUMBER} dojah`)
    expect(keep({}, found, { outcome: 'not_verified' })).toBeUndefined()
    expect(keep({}, [{ name: 'dojah', result: 'reused' }])).toBeUndefined()
    expect(keep({ sources: [{ name: 'dojah' }] }, found)).toBeUndefined()
    expect(keep({ sources: [{ name: 'another', isExternal: true }] }, found)).toBeUndefined()
    expect(keep({ request: { number: VIRTUAL } }, found)).toBeUndefined()
    const { verification } = open()
    verification.sourceAttempts.push(...found)
    expect(toKept(verification as never, verified)).toBeUndefined()
  })
})

describe('a request that no source of the server can answer', () => {
  const check = (sources: readonly object[], request: object = {}) => {
    const chain = sources.map((source) => ({ source: { findNin: () => {}, ...source } }))
    const asked = { caller: { mode: 'live' }, number: NUMBER, phone: PHONE, ...request }
    try {
      requireSource({ live: { nin: chain } } as never, NIN, asked as never)
    } catch (error) {
      return (error as AppError).errors
    }
    return undefined
  }
  const BOTH = ['first_name', 'last_name']
  const NEEDS = { needsDetails: { nin: BOTH, virtual_nin: BOTH, bvn: [] } }

  it('is refused when its NIN is virtual', () => {
    expect(check([{}], { number: VIRTUAL })).toEqual({
      nin: [expect.stringMatching(/^nin is a virtual NIN/)],
    })
    expect(check([{}, { acceptsVirtualNin: true }], { number: VIRTUAL })).toBeUndefined()
  })

  it('is refused when all sources need names, and told which', () => {
    const message = (name: string) => [`${name} is required by the source of this server`]
    expect(check([NEEDS])).toEqual({ first_name: message('first_name'), last_name: message('last_name') })
    expect(check([NEEDS], { details: { first_name: 'Amina' } })).toEqual({ last_name: message('last_name') })
    expect(check([NEEDS], { details: { first_name: 'Amina', last_name: 'Okafor' } })).toBeUndefined()
    expect(check([NEEDS, {}])).toBeUndefined()
    const virtual = { ...NEEDS, acceptsVirtualNin: true }
    expect(check([virtual], { number: VIRTUAL })).toHaveProperty('first_name')
  })

  it('is told the details for its kind of number, and only those of sources that take it', () => {
    const born = {
      acceptsVirtualNin: true,
      needsDetails: { nin: [], virtual_nin: ['date_of_birth'], bvn: [] },
    }
    expect(check([born])).toBeUndefined()
    expect(Object.keys(check([NEEDS, born], { number: VIRTUAL }) ?? {})).toEqual(['date_of_birth'])
    const details = { date_of_birth: '1990-01-05' }
    expect(check([NEEDS, born], { number: VIRTUAL, details })).toBeUndefined()
    const names = { ...NEEDS, acceptsVirtualNin: true }
    const free = { ...names, needsDetails: { ...names.needsDetails, virtual_nin: [] } }
    expect(check([free], { number: VIRTUAL })).toBeUndefined()
    expect(Object.keys(check([free]) ?? {})).toEqual(BOTH)
  })

  it('is accepted where there is none at all: that is no fault of the request', () => {
    expect(check([])).toBeUndefined()
    expect(check([{ findNin: undefined }])).toBeUndefined()
    expect(check([], { number: VIRTUAL })).toHaveProperty('nin')
  })
})
