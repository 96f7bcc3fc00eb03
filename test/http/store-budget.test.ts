import { expect, it } from 'vitest'
import { StoreBudget } from '../../src/http/exchange.ts'
import { afterRunning } from '../../src/telemetry/running-clock.ts'

const never = () => new Promise<never>(() => {})
const TOO_SLOW = { code: 'ETIMEDOUT' }

it('a request that waits too long for the database fails, and nothing else is begun for it', async () => {
  const budget = new StoreBudget(1)
  await expect(budget.limit(never())).rejects.toMatchObject(TOO_SLOW)
  await expect(budget.pause(async () => 'asked')).rejects.toMatchObject(TOO_SLOW)
})

it('a wait before a paid call ends while there is time for the commit of its answer', async () => {
  const budget = new StoreBudget(500)
  const paying = budget.pause(() => budget.beforePaying(never))
  await expect(budget.limit(paying.catch(() => 'not paid'))).resolves.toBe('not paid')
  const again = budget.pause(() => budget.beforePaying(async () => 'paid'))
  await expect(again).rejects.toMatchObject(TOO_SLOW)
})

it('work that the answer does not need does not use up the time', async () => {
  const budget = new StoreBudget(200)
  await expect(budget.limit(budget.spare(never()).then(() => 'answer'))).resolves.toBe('answer')
})

it('a pause with which the work begins does not use up the time', async () => {
  const budget = new StoreBudget(1)
  const gate = Promise.withResolvers<string>()
  const limited = budget.limit(budget.pause(() => gate.promise))
  afterRunning(5, () => gate.resolve('received'))
  await expect(limited).resolves.toBe('received')
})
