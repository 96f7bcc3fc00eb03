import { createSecretKey } from 'node:crypto'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { createThrottle, GUESS_LIMITS, type ThrottleKey } from '../../src/accounts/throttle.ts'
import type { Store } from '../../src/context/store.ts'
import { describeEngines, ENGINES, type Place } from '../engines.ts'

/** Every failure causes the longest wait, so that no wait ends during a test. */
const toKey = (key: string, name?: string): ThrottleKey => ({
  key,
  ...(name !== undefined && { name }),
  free: -20,
  maxWaitMs: 300_000,
})
const SECRET = createSecretKey(Buffer.alloc(32, 7))

describeEngines(ENGINES, (engine) => {
  let place: Place
  let stores: Store[]
  beforeEach(async () => {
    place = await engine.createPlace()
    stores = await Promise.all([place.open(), place.open()])
  })
  afterEach(async () => void (await Promise.all(stores.map((store) => store.close()))))

  const throttleOf = (store = stores[0] as Store) => createThrottle(store.throttle, () => SECRET)
  const isWaiting = async (key: ThrottleKey, store?: Store) =>
    throttleOf(store)
      .begin([key])
      .then(
        async (attempt) => {
          await attempt.withdraw()
          return false
        },
        (error: { code: string }) => error.code === 'too_many_tries',
      )
  const age = (ms: number) =>
    (stores[0] as Store).database
      .prepare('UPDATE sign_in_failures SET at = at - $1, wait_until = wait_until - $1')
      .run(ms)

  it('of many attempts at once on two nodes, one is counted and the others wait', async () => {
    const attempts = Array.from({ length: 20 }, (_, index) =>
      throttleOf(stores[index % 2]).begin([toKey('a')]),
    )
    const results = await Promise.allSettled(attempts)
    expect(results.filter(({ status }) => status === 'fulfilled').length).toBe(1)
  })

  it.each(Object.entries(GUESS_LIMITS))(
    'the waits of the limit %s double up to its longest',
    async (key, limit) => {
      const { free, maxWaitMs } = limit
      const waits: number[] = []
      for (let failures = 1; failures <= free + 11; failures += 1) {
        await throttleOf(stores[failures % 2]).begin([{ key, ...limit }])
        const row = await (stores[0] as Store).database
          .prepare('SELECT wait_until - at AS wait FROM sign_in_failures')
          .get()
        waits.push(Number(row?.wait))
        await age(maxWaitMs)
      }
      const expected = waits.map((_, index) =>
        index + 1 < free ? 0 : Math.min(1000 * 2 ** (index + 1 - free), maxWaitMs),
      )
      expect(waits).toEqual(expected)
    },
  )

  it('the counts survive a restart', async () => {
    await throttleOf().begin([toKey('a')])
    await Promise.all(stores.map((store) => store.close()))
    stores = [await place.open()]
    expect([await isWaiting(toKey('a')), await isWaiting(toKey('b'))]).toEqual([true, false])
  })

  it('a success resets the first count, ends the waits of the others, and a failure starts them anew', async () => {
    const attempt = await throttleOf().begin([toKey('a'), toKey('b')])
    await age(299_000)
    await attempt.fail()
    await age(200_000)
    expect([await isWaiting(toKey('a')), await isWaiting(toKey('b'), stores[1])]).toEqual([true, true])
    await age(200_000)
    await (await throttleOf().begin([toKey('a'), toKey('b')])).succeed()
    expect([await isWaiting(toKey('a')), await isWaiting(toKey('b'))]).toEqual([false, false])
  })

  it('a success keeps the wait that a guess at another account has started meanwhile', async () => {
    const address = toKey('address')
    // Below the number of failures that causes a wait.
    const own = await throttleOf().begin([toKey('own'), { ...address, free: 2 }])
    const guess = await throttleOf(stores[1]).begin([toKey('other'), address])
    await guess.fail()
    // Else both could have the same time.
    await age(1000)
    await own.succeed()
    expect([await isWaiting(toKey('own')), await isWaiting(address)]).toEqual([false, true])
  })

  it('a reset deletes the counts of one name', async () => {
    await throttleOf().begin([toKey('a', 'ada'), toKey('b', 'ada'), toKey('c')])
    await throttleOf(stores[1]).reset('ada')
    const waits = [await isWaiting(toKey('a')), await isWaiting(toKey('b')), await isWaiting(toKey('c'))]
    expect(waits).toEqual([false, false, true])
  })

  it('a wait that a clock which was ahead has written does not last', async () => {
    await throttleOf().begin([toKey('a')])
    await age(-86_400_000)
    expect(await isWaiting(toKey('a'))).toBe(false)
  })

  it('counts that are kept last a day, and are not deleted to make room for others', async () => {
    const { database, throttle } = stores[0] as Store
    const kept = { ...toKey('code ada', 'ada'), isKept: true }
    await throttleOf().begin([kept, toKey('pair ada', 'ada')])
    await age(10_000)
    await database
      .prepare(
        `INSERT INTO sign_in_failures (id, account, failures, wait_until, at)
         WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 10001)
         SELECT 'other' || n, NULL, 1, 0, CAST($1 AS BIGINT) FROM numbers`,
      )
      .run(Date.now() - 5000)
    await throttleOf().begin([toKey('one more')])
    expect([await isWaiting(kept), await isWaiting(toKey('pair ada'))]).toEqual([true, false])
    await database.prepare("DELETE FROM sign_in_failures WHERE id NOT LIKE 'kept:%'").run()
    await age(20 * 3_600_000)
    expect(await throttle.deleteExpired(Date.now())).toBe(0)
    await throttleOf().begin([kept])
    const rows = await database.prepare('SELECT failures FROM sign_in_failures').all()
    expect(rows.map(({ failures }) => Number(failures))).toEqual([2])
    await age(86_400_001)
    expect(await throttle.deleteExpired(Date.now())).toBe(1)
  })

  it('counts are deleted an hour after the last failure, and hold no name and no address', async () => {
    await throttleOf().begin([toKey('pair nkem 203.0.113.7', 'nkem')])
    const [store] = stores as [Store]
    const rows = JSON.stringify(await store.database.prepare('SELECT * FROM sign_in_failures').all())
    expect(rows).not.toMatch(/nkem|203\.0|pair/)
    expect(await store.throttle.deleteExpired(Date.now())).toBe(0)
    await age(3_600_001)
    expect(await store.throttle.deleteExpired(Date.now())).toBe(1)
  })
})
