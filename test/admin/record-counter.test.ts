import { expect, it, onTestFinished } from 'vitest'
import { createRecordCounter } from '../../src/admin/record-counter.ts'
import { SQLITE } from '../engines.ts'

it('counts again after a failure, and not after a success', async () => {
  const place = await SQLITE.createEmptyPlace()
  const counter = createRecordCounter({ config: place.options } as never)
  onTestFinished(() => counter.close())
  const failed = counter.read()
  expect(counter.read()).toBe(failed)
  await expect(failed).rejects.toThrow()
  const store = await place.open()
  onTestFinished(() => store.close())
  const counted = counter.read()
  expect(await counted).toMatchObject({})
  expect(counter.read()).toBe(counted)
})
