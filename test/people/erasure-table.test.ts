import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Store } from '../../src/context/store.ts'
import { packParts } from '../../src/ledger/commit.ts'
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
  async function storeAnswer(subject: Uint8Array): Promise<Uint8Array> {
    const name = randomBytes(32)
    const claim = { keyId: 'key', operation: 'verify_nin', name, owner: 'node:1' }
    const times = { now: Date.now(), leaseMs: 30_000, expiresAt: Date.now() + 60_000 }
    await store.idempotency.claim({ ...claim, fingerprint: randomBytes(32), subject: null, ...times })
    const completion = { claim, sealed: Buffer.from('sealed'), expiresAt: Date.now() + 60_000, subject }
    expect(
      (await store.audit.append({ rows: store.audit.packRows([]), parts: packParts([{ completion }], 0) }))
        .late,
    ).toEqual([])
    return name
  }

  const countAnswers = async (subject: Uint8Array) => (await other.people.listKept(subject)).length

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
