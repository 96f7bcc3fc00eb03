import { afterEach, describe, expect, it } from 'vitest'
import { HOUR_MS, steadyNow } from '../../src/contract/time.ts'
import { createRootKeyText } from '../../src/crypto/root-key.ts'
import { createQueuePace } from '../../src/verification/queue/open-queue.ts'
import { createQueueWorker } from '../../src/verification/queue/worker.ts'
import { bearer, openTestApp, PHONE, type TestApp } from '../app.ts'
import { createStandIn, withStandIn } from '../battery/stand-in.ts'
import { createTestDatabase, hasPostgres } from '../postgres.ts'

const opened: TestApp[] = []
afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await each.close()
})

const FLOOD = 60
const engines = hasPostgres() ? ['SQLite', 'PostgreSQL'] : ['SQLite']

/** As if attempts took two seconds lately. */
function createTwoSecondPace() {
  let at = 0
  const pace = createQueuePace(2, () => at)
  const end = pace.begin()
  at = 2000
  end()
  return pace
}

/** Nodes on real sockets, with a source that answers when the test says so, and workers whose rounds the test begins. */
async function openNodes(engine: string, count = 1) {
  const database = engine === 'PostgreSQL' ? { TABBAT_DATABASE_URL: await createTestDatabase() } : {}
  const settings = {
    ...database,
    TABBAT_ROOT_KEY: createRootKeyText(),
    TABBAT_PENDING_CONCURRENCY: '2',
    TABBAT_BATCH_CONCURRENCY: '2',
    TABBAT_BATCH_RATE: '100000',
  }
  const source = createStandIn(true)
  const nodes: TestApp[] = []
  for (let index = 0; index < count; index++) nodes.push(await openTestApp(settings, { isStopping: true }))
  opened.push(...nodes)
  for (const { context } of nodes) Object.assign(context.queue, { pace: createTwoSecondPace() })
  const workers = nodes.map(({ context }) =>
    createQueueWorker(withStandIn(context, source), {
      owner: context.audit.owner,
      onFailure: (error) => expect(error).toBeUndefined(),
    }),
  )
  const [{ app, createKey, context }] = nodes as [TestApp]
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  const post = async (key: string, path: string, body: string, headers = {}) => {
    const answer = await fetch(`${url}/api/v2/kyc/${path}`, {
      method: 'POST',
      headers: { ...bearer(key), 'content-type': 'application/json', ...headers },
      body,
    })
    expect(answer.status).toBe(202)
    await answer.arrayBuffer()
    return answer.headers
  }
  const readRetryAfter = async (key: string, asked: Headers) => {
    const answer = await fetch(`${url}${asked.get('location')}`, { headers: bearer(key) })
    await answer.arrayBuffer()
    return Number(answer.headers.get('retry-after'))
  }
  const ask = (key: string, number: string, operation = 'nin') =>
    post(
      key,
      `verify-${operation}`,
      JSON.stringify({ [operation]: number, phone: PHONE, ...(operation === 'bvn' && { amount: '1' }) }),
      { prefer: 'respond-async' },
    )
  const sendBatch = (key: string, numbers: readonly string[]) =>
    post(
      key,
      'batches',
      JSON.stringify(numbers.map((nin) => ({ operation: 'verify_nin', nin, phone: PHONE }))),
    )
  const work = async () => {
    for (const { beginDue } of workers) await beginDue()
    await Promise.all(workers.map(({ idle }) => idle()))
  }
  const countQueued = async () =>
    (await context.store.queue.countPending()).reduce((sum, { pending }) => sum + pending, 0)
  /** Keys that have one verification each, which is not due. */
  const addIdleKeys = (count: number) =>
    context.store.queue.enqueue(
      Array.from({ length: count }, (_, index) => ({
        ...{
          reference: `TBT-idle-${index}`,
          keyId: 'idle',
          lineage: `0idle${String(index).padStart(5, '0')}`,
        },
        ...{ lane: 'single' as const, mode: 'live' as const, operation: 'verify_nin' },
        ...{ subject: Buffer.alloc(1), question: Buffer.alloc(1), delayMs: HOUR_MS, lifeMs: HOUR_MS },
      })),
      { perKey: 10, all: 100_000 },
      steadyNow(),
    )
  return {
    source,
    createKey,
    ask,
    sendBatch,
    work,
    countQueued,
    addIdleKeys,
    readRetryAfter,
    workers,
    context,
  }
}

const toNumbers = (first: string, count: number) =>
  Array.from({ length: count }, (_, index) => `${first}${String(index).padStart(10, '0')}`)

describe.each(engines)('on %s', (engine) => {
  it('one question of a key is asked in the next round, however many another key has', async () => {
    const { source, createKey, ask, work } = await openNodes(engine)
    const [flooding, other] = [await createKey({ mode: 'live' }), await createKey({ mode: 'live' })]
    await Promise.all(toNumbers('4', FLOOD).map((nin) => ask(flooding, nin)))
    await work()
    await ask(other, '50000000000')
    await work()
    expect(source.calls).toContain('50000000000')
    expect(source.calls.length).toBeLessThanOrEqual(4)
  })

  it('many keys with nothing due delay neither a flooding key nor one question of another', async () => {
    const { source, createKey, ask, work, addIdleKeys } = await openNodes(engine)
    const [flooding, other] = [await createKey({ mode: 'live' }), await createKey({ mode: 'live' })]
    await addIdleKeys(450)
    await Promise.all(toNumbers('4', 250).map((nin) => ask(flooding, nin)))
    await work()
    expect(source.calls.length).toBe(2)
    await ask(other, '50000000000')
    await work()
    expect(source.calls.length).toBe(4)
    expect(source.calls).toContain('50000000000')
  })

  it('tells a caller to wait for the questions before its own, and for one attempt while it is asked', async () => {
    const { source, createKey, ask, work, workers, readRetryAfter } = await openNodes(engine)
    const [flooding, other] = [await createKey({ mode: 'live' }), await createKey({ mode: 'live' })]
    const asked: Headers[] = []
    for (const nin of toNumbers('4', 12)) asked.push(await ask(flooding, nin))
    const goOn = source.hold()
    for (const { beginDue } of workers) await beginDue()
    await source.wasAsked(2)
    const ofOther = await ask(other, '50000000000')
    const [running, last] = [asked[0], asked.at(-1)] as [Headers, Headers]
    expect(await readRetryAfter(flooding, running)).toBe(2)
    expect(await readRetryAfter(flooding, last)).toBe(11)
    expect(await readRetryAfter(other, ofOther)).toBe(2)
    goOn()
    await work()
  })

  it('rows of a batch are asked in turn with the rows of another key', async () => {
    const { source, createKey, sendBatch, work, countQueued } = await openNodes(engine)
    const [flooding, other] = [await createKey({ mode: 'live' }), await createKey({ mode: 'live' })]
    await sendBatch(flooding, toNumbers('4', FLOOD))
    await expect.poll(countQueued).toBe(FLOOD)
    await sendBatch(other, toNumbers('5', 5))
    await expect.poll(countQueued).toBe(FLOOD + 5)
    await expect
      .poll(async () => {
        await work()
        return source.calls.filter((nin) => nin.startsWith('5')).length
      })
      .toBe(5)
    const before = source.calls.slice(
      0,
      source.calls.findLastIndex((nin) => nin.startsWith('5')),
    )
    expect(before.filter((nin) => nin.startsWith('4')).length).toBeLessThanOrEqual(8)
  })

  it('a batch and single questions, and the two operations, do not wait for each other', async () => {
    const { source, createKey, ask, sendBatch, work, countQueued } = await openNodes(engine)
    const keys = await Promise.all(Array.from({ length: 3 }, () => createKey({ mode: 'live' })))
    const [one, two, three] = keys as [string, string, string]
    await Promise.all(toNumbers('4', FLOOD).map((nin) => ask(one, nin)))
    await sendBatch(one, toNumbers('6', FLOOD))
    await expect.poll(countQueued).toBe(2 * FLOOD)
    await ask(two, '22345678901', 'bvn')
    await ask(three, '50000000000')
    for (let round = 0; round < 3; round++) await work()
    expect(source.calls).toContain('22345678901')
    expect(source.calls).toContain('50000000000')
    expect(source.calls.filter((number) => number.startsWith('6')).length).toBeGreaterThanOrEqual(1)
  })
})

it.skipIf(!hasPostgres())('three nodes on one PostgreSQL ask for each key in turn', async () => {
  const { source, createKey, ask, work } = await openNodes('PostgreSQL', 3)
  const keys = await Promise.all(Array.from({ length: 4 }, () => createKey({ mode: 'live' })))
  await Promise.all(toNumbers('1', FLOOD).map((nin) => ask(keys[0] as string, nin)))
  await work()
  for (const [index, key] of keys.entries())
    if (index > 0) for (const nin of toNumbers(String(index + 1), 2)) await ask(key, nin)
  const before = source.calls.length
  // Six places in all, four keys: two rounds are enough for two questions of each.
  for (let round = 0; round < 3; round++) await work()
  const asked = source.calls.slice(before)
  for (const first of ['2', '3', '4']) expect(asked.filter((nin) => nin.startsWith(first)).length).toBe(2)
})
