import { expect, it } from 'vitest'
import { createTimeoutBreaker } from '../../src/database/timeout-breaker.ts'

const timeOut = () => Promise.reject(new Error('Query read timeout'))
const answer = async () => 'answer'

it('lets one operation probe a silent server, for which its caller does not wait long, until the server answers', async () => {
  const guard = createTimeoutBreaker()
  await expect(guard(timeOut)).rejects.toThrow('Query read timeout')
  const { promise, resolve } = Promise.withResolvers<string>()
  const probe = guard(() => promise)
  await expect(guard(answer)).rejects.toMatchObject({ code: 'ETIMEDOUT' })
  await expect(probe).rejects.toMatchObject({ code: 'ETIMEDOUT' })
  // The probe goes on, and remains the only one.
  await expect(guard(answer)).rejects.toMatchObject({ code: 'ETIMEDOUT' })
  resolve('late answer')
  await promise
  await expect.poll(() => guard(answer).catch(() => 'refused')).toBe('answer')
})

const findNoConnection = () => Promise.reject(new Error('timeout exceeded when trying to connect'))

it('takes a wait for a connection as silence only if the server answered nothing meanwhile', async () => {
  const guard = createTimeoutBreaker()
  const { promise, reject } = Promise.withResolvers<never>()
  const waiting = guard(() => promise)
  expect(await guard(answer)).toBe('answer')
  reject(new Error('timeout exceeded when trying to connect'))
  await expect(waiting).rejects.toThrow('trying to connect')
  // Load: operations are tried, not refused.
  expect(await Promise.all([guard(answer), guard(answer)])).toEqual(['answer', 'answer'])
  await expect(guard(findNoConnection)).rejects.toThrow('trying to connect')
  const probe = guard(() => new Promise<never>(() => {}))
  await expect(guard(answer)).rejects.toMatchObject({ code: 'ETIMEDOUT' })
  await expect(probe).rejects.toMatchObject({ code: 'ETIMEDOUT' })
})

it('stays open when a probe finds no free connection', async () => {
  const guard = createTimeoutBreaker()
  await expect(guard(timeOut)).rejects.toThrow('Query read timeout')
  await expect(guard(findNoConnection)).rejects.toThrow('trying to connect')
  const probe = guard(() => new Promise<never>(() => {}))
  await expect(guard(answer)).rejects.toMatchObject({ code: 'ETIMEDOUT' })
  await expect(probe).rejects.toMatchObject({ code: 'ETIMEDOUT' })
})

it('waits for a patient operation', async () => {
  const guard = createTimeoutBreaker()
  await expect(guard(timeOut)).rejects.toThrow('Query read timeout')
  const { promise, resolve } = Promise.withResolvers<string>()
  const probe = guard(() => promise, true)
  await expect(guard(answer)).rejects.toMatchObject({ code: 'ETIMEDOUT' })
  resolve('late answer')
  expect(await probe).toBe('late answer')
})
