import { expect, it } from 'vitest'
import { createQueueWorker } from '../../src/verification/queue/worker.ts'
import { bearer, openTestApp, PHONE } from '../app.ts'

const BACKLOG = 10

it('a long queue of one operation does not block the other one', async () => {
  const server = await openTestApp({ TABBAT_PENDING_CONCURRENCY: '1' }, { isStopping: true })
  const { context, app } = server
  // The worker of the server is replaced by one whose rounds the test begins.
  const failures: unknown[] = []
  const worker = createQueueWorker(context, {
    owner: context.audit.owner,
    onFailure: (error) => failures.push(error),
  })
  const headers = { ...bearer(), prefer: 'respond-async' }
  const ask = async (url: string, payload: object) =>
    String((await app.inject({ method: 'POST', url, headers, payload })).headers.location)
  const read = async (url: string) => (await app.inject({ url, headers: bearer() })).statusCode
  for (let index = 0; index < BACKLOG; index++)
    await ask('/api/v2/kyc/verify-nin', { nin: String(10_000_000_000 + index), phone: PHONE })
  const bvn = await ask('/api/v2/kyc/verify-bvn', { bvn: '22345678901', phone: PHONE, amount: '1' })
  for (let round = 0; round < 2; round++) {
    await worker.beginDue()
    await worker.idle()
  }
  expect(await read(bvn)).toBe(200)
  expect((await context.store.queue.countPending()).map(({ pending }) => pending)).toEqual([BACKLOG - 1])
  expect(failures).toEqual([])
  await server.close()
})
