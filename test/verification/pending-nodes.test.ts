import { afterEach, expect, it } from 'vitest'
import { createRootKeyText } from '../../src/crypto/root-key.ts'
import { createQueueWorker } from '../../src/verification/queue/worker.ts'
import { bearer, openTestApp, PHONE, type TestApp } from '../app.ts'
import { createStandIn, withStandIn } from '../battery/stand-in.ts'
import { createTestDatabase, hasPostgres } from '../postgres.ts'

const opened: TestApp[] = []
afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await each.close()
})

const QUESTIONS = 100

it.skipIf(!hasPostgres())('three nodes on one PostgreSQL work on one queue', async () => {
  const settings = {
    TABBAT_DATABASE_URL: await createTestDatabase(),
    TABBAT_ROOT_KEY: createRootKeyText(),
    TABBAT_PENDING_CONCURRENCY: '10',
  }
  for (let index = 0; index < 3; index++) opened.push(await openTestApp(settings, { isStopping: true }))
  // The workers of the nodes are replaced by ones that begin when the test says so.
  const source = createStandIn(true)
  const workers = opened.map(({ context }) =>
    createQueueWorker(withStandIn(context, source), {
      owner: context.audit.owner,
      onFailure: (error) => expect(error).toBeUndefined(),
    }),
  )
  const [{ app, context, createKey }] = opened as [TestApp]
  const key = await createKey({ mode: 'live' })
  const accepted = await Promise.all(
    Array.from({ length: QUESTIONS }, (_, index) =>
      app.inject({
        method: 'POST',
        url: '/api/v2/kyc/verify-nin',
        headers: { ...bearer(key), prefer: 'respond-async' },
        payload: { nin: `4${String(index).padStart(10, '0')}`, phone: PHONE },
      }),
    ),
  )
  const references = accepted.map((answer) => answer.json().data.request_reference as string)

  const release = source.hold()
  for (const worker of workers) await worker.beginDue()
  await source.wasAsked(30)
  release()
  const work = async () => {
    for (const worker of workers) await worker.beginDue()
    await Promise.all(workers.map(({ idle }) => idle()))
    return (await context.store.queue.countPending()).length
  }
  await expect.poll(work, { interval: 0 }).toBe(0)

  expect(source.calls.toSorted()).toEqual([...new Set(source.calls)].toSorted())
  expect(source.calls).toHaveLength(QUESTIONS)
  const chains = new Set<string>()
  for (const reference of references) {
    const rows = await context.store.audit.byReference(reference)
    const outcomes = rows.filter(({ phase }) => phase === 'outcome')
    expect(outcomes.map(({ outcome }) => outcome)).toEqual(['verified'])
    for (const { chain } of outcomes) chains.add(chain)
  }
  expect(chains.size).toBe(3)
})
