import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { createKeyLookup } from '../../src/keys/authenticate.ts'

it('when the store fails, queued look-ups fail with the running ones', async () => {
  const queries: ((error: Error) => void)[] = []
  const find = () => new Promise<undefined>((_resolve, reject) => queries.push(reject))
  const lookup = createKeyLookup({ find }, () => 0)
  const outcomes = Array.from({ length: 10 }, (_each, index) =>
    lookup.find(`id${index}`, false).catch((error: Error) => error.message),
  )
  expect(queries).toHaveLength(4)
  const failure = Object.assign(new Error('silent'), { errcode: 5 })
  for (const reject of queries) reject(failure)
  expect(await Promise.all(outcomes)).toEqual(Array(10).fill('silent'))
  expect(queries).toHaveLength(4)
})

it('four unknown keys are looked up at a time, and each that ends lets the next one in', async () => {
  const queries: { id: string; answer: () => void }[] = []
  const find = (id: string) =>
    new Promise<undefined>((resolve) => queries.push({ id, answer: () => resolve(undefined) }))
  const lookup = createKeyLookup({ find }, () => 7)
  const start = (from: number, count: number) =>
    Array.from({ length: count }, (_each, index) => lookup.find(`id${from + index}`, false))
  const first = start(0, 6)
  expect(queries).toHaveLength(4)
  queries[0]?.answer()
  expect(await first[0]).toEqual({ row: undefined, at: 7 })
  await nextTurn()
  expect(queries.map(({ id }) => id)).toEqual(['id0', 'id1', 'id2', 'id3', 'id4'])
  // A key that was valid before waits for none of them.
  void lookup.find('trusted', true)
  expect(queries.at(-1)?.id).toBe('trusted')
  for (let index = 1; index < 7; index++) {
    queries[index]?.answer()
    await nextTurn()
  }
  await Promise.all(first)
  // All places are free again, and no more than before.
  const before = queries.length
  void start(10, 6)
  expect(queries.length - before).toBe(4)
})

it('a failure of the program fails one look-up, and the queued ones go on', async () => {
  const queries: { resolve: (row: undefined) => void; reject: (error: Error) => void }[] = []
  const find = () => new Promise<undefined>((resolve, reject) => queries.push({ resolve, reject }))
  const lookup = createKeyLookup({ find }, () => 0)
  const outcomes = Array.from({ length: 5 }, (_each, index) =>
    lookup.find(`id${index}`, false).then(
      () => 'found',
      (error: Error) => error.message,
    ),
  )
  queries[0]?.reject(new TypeError('a mistake'))
  expect(await outcomes[0]).toBe('a mistake')
  await nextTurn()
  for (const { resolve } of queries) resolve(undefined)
  expect(await Promise.all(outcomes)).toEqual(['a mistake', 'found', 'found', 'found', 'found'])
})

it('look-ups of one key are shared while one runs, apart from those of unknown secrets, and made again later', async () => {
  let queries = 0
  const find = async () => {
    queries += 1
    return undefined
  }
  const lookup = createKeyLookup({ find }, () => 0)
  await Promise.all([lookup.find('a', true), lookup.find('a', true), lookup.find('a', false)])
  expect(queries).toBe(2)
  await lookup.find('a', true)
  expect(queries).toBe(3)
})
