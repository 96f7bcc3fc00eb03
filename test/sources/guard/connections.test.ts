import fc from 'fast-check'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { createConnections } from '../../../src/sources/guard/connections.ts'

const NEVER_MS = 60_000

/** One connection that is in use, and the callers in the order in which they got it. */
async function openHeld(maxWaitMs = NEVER_MS) {
  const connections = createConnections(1, maxWaitMs)
  const served: string[] = []
  const refused: string[] = []
  await connections.enter('holder')
  const wait = (lineage: string, caller: string, signal?: AbortSignal) =>
    void connections
      .enter(lineage, signal)
      .then((isFree) => void (isFree ? served : refused).push(`${lineage}${caller}`))
  const leave = async () => {
    connections.leave('')
    // The promise of a caller settles a few microtasks later.
    for (let task = 0; task < 5; task++) await Promise.resolve()
  }
  return { connections, served, refused, wait, leave }
}

describe('callers that wait for a connection', () => {
  afterEach(() => void vi.useRealTimers())

  it('of one key do not wait for all callers of another', async () => {
    const { connections, served, wait, leave } = await openHeld()
    for (let caller = 0; caller < 100; caller++) wait('a', String(caller))
    wait('b', '0')
    expect(connections.read()).toEqual({ inUse: 1, waiting: 101 })
    await leave()
    await leave()
    expect(served).toEqual(['a0', 'b0'])
    await leave()
    expect(served.at(-1)).toBe('a1')
    expect(connections.read()).toEqual({ inUse: 1, waiting: 98 })
  })

  it('of one key leave the last eighth of the connections to others', async () => {
    const connections = createConnections(16, NEVER_MS)
    const got: string[] = []
    const enter = (lineage: string) =>
      void connections.enter(lineage).then((isFree) => void (isFree && got.push(lineage)))
    const settle = async () => {
      for (let task = 0; task < 5; task++) await Promise.resolve()
      return got.splice(0).join('')
    }
    for (let caller = 0; caller < 20; caller++) enter('a')
    expect(await settle()).toBe('a'.repeat(14))
    for (const lineage of 'bcbb') enter(lineage)
    expect(await settle()).toBe('bc')
    expect(connections.read()).toEqual({ inUse: 16, waiting: 8 })
    // None of the last two is for who holds fourteen.
    connections.leave('c')
    expect(await settle()).toBe('b')
    connections.leave('b')
    expect(await settle()).toBe('b')
    connections.leave('a')
    connections.leave('b')
    connections.leave('b')
    expect(await settle()).toBe('a')
    expect(connections.read()).toEqual({ inUse: 14, waiting: 5 })
    for (let caller = 0; caller < 14; caller++) connections.leave('a')
    expect(await settle()).toBe('aaaaa')
    expect(connections.read()).toEqual({ inUse: 5, waiting: 0 })
  })

  it('of a key that gave one back get a reserved one, besides the key whose turn it is', async () => {
    const connections = createConnections(8, NEVER_MS)
    const got: string[] = []
    const enter = (lineage: string) => void connections.enter(lineage).then(() => void got.push(lineage))
    for (const lineage of 'abbbbbbba') enter(lineage)
    connections.leave('a')
    for (let task = 0; task < 5; task++) await Promise.resolve()
    expect(got.join('')).toBe('abbbbbbba')
    expect(connections.read()).toEqual({ inUse: 8, waiting: 0 })
  })

  it('take no turn after their time is over, nor does their key', async () => {
    const { connections, served, refused, wait, leave } = await openHeld(1)
    wait('a', '0')
    wait('b', '0')
    await expect.poll(() => refused).toEqual(['a0', 'b0'])
    expect(connections.read()).toEqual({ inUse: 1, waiting: 0 })
    // No timer runs from here on.
    wait('c', '0')
    wait('b', '1')
    await leave()
    await leave()
    expect(served).toEqual(['c0', 'b1'])
    await leave()
    expect(connections.read()).toEqual({ inUse: 0, waiting: 0 })
  })

  it('stop waiting at their deadline', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const { connections, served, refused, wait, leave } = await openHeld()
    // What ran in this worker before may have left some.
    const timers = vi.getTimerCount()
    const deadline = new AbortController()
    wait('a', '0', deadline.signal)
    wait('b', '0', AbortSignal.abort())
    wait('c', '0')
    deadline.abort()
    await leave()
    expect([served, refused.toSorted()]).toEqual([['c0'], ['a0', 'b0']])
    expect(connections.read()).toEqual({ inUse: 1, waiting: 0 })
    expect(vi.getTimerCount()).toBe(timers)
  })

  it('keep a connection that they got in the turn of their deadline', async () => {
    const { connections, served, refused, wait, leave } = await openHeld()
    const deadline = new AbortController()
    wait('a', '0', deadline.signal)
    const left = leave()
    deadline.abort()
    await left
    expect([served, refused]).toEqual([['a0'], []])
    expect(connections.read()).toEqual({ inUse: 1, waiting: 0 })
  })

  it('are served in order within a key, once, and after one turn of every other key that waits', async () => {
    const steps = fc.array(
      fc.oneof(
        { weight: 3, arbitrary: fc.constantFrom('a', 'b', 'c', 'd', 'e') },
        { weight: 2, arbitrary: fc.constant('leave' as const) },
        { weight: 1, arbitrary: fc.nat(30) },
      ),
      { maxLength: 80 },
    )
    await fc.assert(
      fc.asyncProperty(steps, async (steps) => {
        const callers = await openCallers()
        for (const step of steps) {
          if (step === 'leave') await callers.leave()
          else if (typeof step === 'number') callers.abort(step)
          else callers.wait(step)
          callers.check()
        }
        await callers.end()
      }),
    )
  })
})

/** Callers with what they may expect. */
async function openCallers() {
  const { connections, served, refused, wait, leave } = await openHeld()
  let waiting: { readonly name: string; readonly key: string; readonly deadline: AbortController }[] = []
  /** For each key that waits, after how many connections it is served at the latest. */
  const turns = new Map<string, number>()
  const aborted: string[] = []
  let names = 0
  const queue = (key: string) => {
    if (!turns.has(key)) turns.set(key, turns.size + 1)
  }
  const remove = (name: string) => {
    waiting = waiting.filter((each) => each.name !== name)
    for (const key of turns.keys()) if (!waiting.some((each) => each.key === key)) turns.delete(key)
  }
  const leaveOnce = async () => {
    if (waiting.length === 0) return
    const before = served.length
    await leave()
    const [name = '', ...more] = served.slice(before)
    const key = name.charAt(0)
    expect(more).toEqual([])
    expect(name).toBe(waiting.find((each) => each.key === key)?.name)
    for (const [each, left] of turns) turns.set(each, left - 1)
    turns.delete(key)
    remove(name)
    if (waiting.some((each) => each.key === key)) queue(key)
    expect([...turns.values()].filter((left) => left < 1)).toEqual([])
  }
  return {
    wait: (key: string) => {
      const deadline = new AbortController()
      waiting.push({ name: `${key}${names}`, key, deadline })
      queue(key)
      wait(key, String(names), deadline.signal)
      names += 1
    },
    abort: (index: number) => {
      const waiter = waiting[index % waiting.length]
      if (!waiter) return
      waiter.deadline.abort()
      aborted.push(waiter.name)
      remove(waiter.name)
    },
    leave: leaveOnce,
    check: () => expect(connections.read()).toEqual({ inUse: 1, waiting: waiting.length }),
    end: async () => {
      while (waiting.length > 0) await leaveOnce()
      await leave()
      expect(connections.read()).toEqual({ inUse: 0, waiting: 0 })
      expect(refused.toSorted()).toEqual(aborted.toSorted())
      expect(served.length + refused.length).toBe(names)
      expect(new Set([...served, ...refused]).size).toBe(names)
    },
  }
}
