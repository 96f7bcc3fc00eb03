import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Store } from '../../src/context/store.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/contract/time.ts'
import { packParts } from '../../src/ledger/commit.ts'
import type { NamedAnswer } from '../../src/people/erase-rows.ts'
import { readAllParts } from '../../src/people/kept-answers.ts'
import { describeEngines, ENGINES } from '../engines.ts'
import { toErasureSubject } from './erasure-subject.ts'

const START = { erasedAt: 0, id: '' }

describeEngines(ENGINES, (engine) => {
  let store: Store
  let other: Store
  beforeAll(async () => {
    const place = await engine.createPlace()
    store = await place.open()
    other = await place.open()
  })
  afterAll(async () => {
    await store.close()
    await other.close()
  })

  /** A claim whose response is stored without a subject, as one about a virtual NIN is. */
  async function storeAnswer(subject: Uint8Array, lifeMs = DAY_MS): Promise<Uint8Array> {
    const name = randomBytes(32)
    const claim = { keyId: 'key', operation: 'verify_nin', name, owner: 'node:1' }
    const times = { now: Date.now(), leaseMs: 30_000, expiresAt: Date.now() + lifeMs }
    await store.idempotency.claim({ ...claim, fingerprint: randomBytes(32), subject: null, ...times })
    const completion = { claim, sealed: Buffer.from('sealed'), expiresAt: Date.now() + lifeMs, subject }
    expect(
      (await store.audit.append({ rows: store.audit.packRows([]), parts: packParts([{ completion }], 0) }))
        .late,
    ).toEqual([])
    return name
  }

  const countAnswers = async (subject: Uint8Array) => {
    let count = 0
    await readAllParts(
      (from) => other.people.listKept(subject, from),
      (answers) => {
        count += answers.length
      },
    )
    return count
  }

  it('tombstones are listed in order, by all nodes, and found by the subject', async () => {
    const [first, second] = [randomBytes(32), randomBytes(32)]
    await store.erasure.erase(toErasureSubject(first), Date.now())
    await other.erasure.erase(toErasureSubject(second, { kind: 'bvn' }), Date.now())
    await store.erasure.erase(toErasureSubject(first), Date.now())
    const all = await other.erasure.listTombstones(START, 10)
    expect(all).toHaveLength(3)
    expect(all.map(({ erasedAt }) => erasedAt)).toEqual(all.map(({ erasedAt }) => erasedAt).toSorted())
    const [one] = await store.erasure.listTombstones(START, 1)
    expect(await store.erasure.listTombstones(one as NonNullable<typeof one>, 10)).toEqual(all.slice(1))
    expect(await store.erasure.findTombstones(first)).toHaveLength(2)
    expect(await store.erasure.findTombstones(second)).toMatchObject([{ kind: 'bvn' }])
  })

  it('an erasure of another copy is applied once', async () => {
    const subject = randomBytes(32)
    await storeAnswer(subject)
    const earlier = { ...toErasureSubject(subject), erasedAt: 5 }
    expect(await store.erasure.eraseAgain([earlier, earlier], Date.now())).toMatchObject([{ keptAnswers: 1 }])
    await storeAnswer(subject)
    expect(await other.erasure.eraseAgain([earlier], Date.now())).toEqual([])
    expect(await countAnswers(subject)).toBe(1)
    expect(await store.erasure.findTombstones(subject)).toMatchObject([{ erasedAt: 5 }])
  })

  it('the answers about a person are found in parts of the time at which they expire', async () => {
    const [subject, stranger] = [randomBytes(32), randomBytes(32)]
    await storeAnswer(stranger, 2 * HOUR_MS)
    const lives = [1, 2, 20, 300, 5000].map((minutes) => minutes * MINUTE_MS)
    for (const lifeMs of lives) await storeAnswer(subject, lifeMs)
    const parts: (readonly NamedAnswer[])[] = []
    await readAllParts(
      (from) => store.erasure.listNamed(subject, from),
      (answers) => void parts.push(answers),
    )
    expect(parts.filter((part) => part.length > 0).map((part) => part.length)).toEqual([2, 1, 1, 1])
    expect(await countAnswers(subject)).toBe(5)
    // By their ids, and not by the time.
    const recentFrom = Number.MAX_SAFE_INTEGER
    const person = toErasureSubject(subject, { named: parts.flat(), recentFrom })
    expect(await store.erasure.count(person)).toMatchObject({ keptAnswers: 5 })
    expect(await store.erasure.erase(person, Date.now())).toMatchObject({ keptAnswers: 5 })
    expect([await countAnswers(subject), await countAnswers(stranger)]).toEqual([0, 1])
    // One that was stored after they were listed.
    await storeAnswer(subject)
    expect(await store.erasure.eraseKept(subject, recentFrom)).toBe(0)
    expect(await store.erasure.eraseKept(subject, Date.now() + DAY_MS - MINUTE_MS)).toBe(1)
  })

  it('an answer that names its person late is deleted if the person was erased within the last minute', async () => {
    const [subject, stranger] = [randomBytes(32), randomBytes(32)]
    await other.erasure.erase(toErasureSubject(subject), Date.now())
    await storeAnswer(subject)
    await storeAnswer(stranger)
    expect([await store.erasure.eraseLate(subject), await store.erasure.eraseLate(stranger)]).toEqual([1, 0])
    expect([await countAnswers(subject), await countAnswers(stranger)]).toEqual([0, 1])
    await store.database.prepare('UPDATE erasures SET erased_at = erased_at - 120000').run()
    await storeAnswer(subject)
    expect(await store.erasure.eraseLate(subject)).toBe(0)
  })
})
