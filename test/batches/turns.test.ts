import { describe, expect, it } from 'vitest'
import { createTurns } from '../../src/batches/turns.ts'

const nextTurn = () => new Promise((done) => setImmediate(done))

/** Pieces that end at once, as on SQLite. */
async function takeAll(pieces: readonly (readonly [lineage: string, name: string])[]) {
  const turns = createTurns()
  const done: string[] = []
  const all = pieces.map(([lineage, name]) => turns.take(lineage, async () => void done.push(name)))
  return { done, all: Promise.all(all) }
}

describe('turns', () => {
  it('do one piece in a turn of the event loop, the first at once', async () => {
    const { done, all } = await takeAll(['1', '2', '3'].map((name) => ['a', name] as const))
    const seen: number[] = []
    for (let turn = 0; turn < 4; turn++) {
      seen.push(done.length)
      await nextTurn()
    }
    await all
    expect(seen).toEqual([1, 2, 3, 3])
  })

  it('are taken by the lineages one after the other, and within each in order', async () => {
    const flood = Array.from({ length: 5 }, (_, at) => ['flood', `flood ${at}`] as const)
    const { done, all } = await takeAll([...flood, ['one', 'one 0'], ['two', 'two 0'], ['two', 'two 1']])
    await all
    const order = ['flood 0', 'flood 1', 'one 0', 'two 0', 'flood 2', 'two 1', 'flood 3', 'flood 4']
    expect(done).toEqual(order)
  })

  it('go on after a piece that failed, and after all were done', async () => {
    const turns = createTurns()
    const failing = turns.take('a', () => Promise.reject(new Error('no')))
    const next = turns.take('a', async () => 'next')
    await expect(failing).rejects.toThrow('no')
    expect(await next).toBe('next')
    await nextTurn()
    expect(await turns.take('b', async () => 'later')).toBe('later')
  })

  it('are not passed on while a piece waits', async () => {
    const turns = createTurns()
    const { promise, resolve } = Promise.withResolvers<void>()
    let isDone = false
    const first = turns.take('a', () => promise)
    const second = turns.take('b', async () => {
      isDone = true
    })
    await nextTurn()
    expect(isDone).toBe(false)
    resolve()
    await Promise.all([first, second])
    expect(isDone).toBe(true)
  })
})
