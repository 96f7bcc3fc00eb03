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
