import type { Context } from '../../src/context/context.ts'
import { toBvnRecord } from '../../src/sources/sandbox/bvn-record.ts'
import { toNinRecord } from '../../src/sources/sandbox/nin-record.ts'
import type { Answer, Call, Source } from '../../src/sources/source.ts'

export type StandIn = {
  readonly source: Source
  /** The numbers of all requests, in order. */
  readonly calls: string[]
  /** Resolves after this many requests. Fails if they do not come. */
  readonly wasAsked: (times: number) => Promise<void>
  /** Holds all answers until the returned function is called. */
  readonly hold: () => () => void
  /** Called before each answer; may throw. */
  onCall: (number: string, call: Call) => void | Promise<void>
}

const GIVEN_UP_MS = 20_000

/** A source that records its calls. It has a record for every number that does not end in 422. */
export function createStandIn(isExternal: boolean): StandIn {
  const waiting: { times: number; resolve: () => void }[] = []
  let held: Promise<void> | undefined
  const answer = async <T>(number: string, call: Call, record: T): Promise<Answer<T>> => {
    standIn.calls.push(number)
    for (const { times, resolve } of waiting) if (standIn.calls.length >= times) resolve()
    await standIn.onCall(number, call)
    await held
    return number.endsWith('422') ? { found: false } : { found: true, record }
  }
  const standIn: StandIn = {
    source: {
      name: 'stand-in',
      isExternal,
      findNin: ({ nin, phone }, call) => answer(nin, call, toNinRecord(nin, phone)),
      findBvn: ({ bvn, phone }, call) => answer(bvn, call, toBvnRecord(bvn, phone)),
    },
    calls: [],
    wasAsked: (times) => {
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      if (standIn.calls.length >= times) resolve()
      else waiting.push({ times, resolve })
      const giveUp = () => reject(new Error(`asked ${standIn.calls.length} times instead of ${times}`))
      const timer = setTimeout(giveUp, GIVEN_UP_MS)
      return promise.finally(() => clearTimeout(timer))
    },
    hold: () => {
      const { promise, resolve } = Promise.withResolvers<void>()
      held = promise
      return () => {
        held = undefined
        resolve()
      }
    },
    onCall: () => {},
  }
  return standIn
}

/** The same server with this source alone, for test and live keys. */
export function withStandIn(context: Context, { source }: StandIn): Context {
  const kinds = { nin: [{ source }], bvn: [{ source }] }
  return { ...context, sources: { test: kinds, live: kinds } }
}
