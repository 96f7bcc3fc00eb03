import { createServer } from 'node:net'
import { afterAll, expect, it } from 'vitest'

afterAll(() => new Promise<void>(() => {}))

it('leaves a listener, a timer, a hook that never ends and a loop that yields', async () => {
  await new Promise<void>((resolve) => createServer().listen(0, '127.0.0.1', resolve))
  setInterval(() => {}, 10)
  const spin = () => void setImmediate(spin)
  spin()
  expect('a listener').toBe('closed')
})
