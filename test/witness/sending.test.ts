import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Checkpoint } from '../../src/store/audit-table.ts'
import type { Store } from '../../src/store/store.ts'
import { toTargetId, toWitnessTarget } from '../../src/witness/target.ts'
import { openWitness, toRecent } from '../../src/witness/witness.ts'
import { describeEngines, ENGINES, type Place } from '../store/engines.ts'
import { startReceiver } from './receiver.ts'

const MINUTE_MS = 60_000
const toCheckpoint = (at: number): Checkpoint => ({
  time: new Date(at).toISOString(),
  body: '{}',
  signature: randomBytes(64).toString('base64'),
})

describeEngines(ENGINES, (engine) => {
  let place: Place
  let store: Store
  const events: string[] = []
  const log = { event: (_level: string, name: string) => void events.push(name) }
  beforeAll(async () => {
    place = await engine.createPlace()
    store = await place.open()
  })
  afterAll(() => store.close())

  const insert = async (...times: number[]) => {
    const made = times.map(toCheckpoint)
    for (const checkpoint of made) await store.audit.insertCheckpoint(checkpoint)
    return made.map(({ signature }) => signature)
  }
  const send = (url: string, { holder = 'one', from = store } = {}) =>
    openWitness({
      ...{ table: from.witness, target: toWitnessTarget(url, undefined), allowPrivate: true, holder },
      ...{ log, pollMs: 5 },
    })

  it('sends the checkpoints from before, then new ones, each once and in order', async () => {
    const receiver = await startReceiver()
    const day = Date.now() - 24 * 60 * MINUTE_MS
    const before = await insert(day, day, day + 1, day + MINUTE_MS)
    const witness = send(receiver.url)
    await expect.poll(() => receiver.received.length).toBe(4)
    const after = await insert(Date.now())
    await expect.poll(() => receiver.received.length).toBe(5)
    const got = receiver.received.map(({ signature }) => signature)
    expect(got.slice(2)).toEqual([...before.slice(2), ...after])
    expect(new Set(got)).toEqual(new Set([...before, ...after]))
    await witness.close()
    await receiver.close()
  })

  it('sends a checkpoint of a node whose clock is behind, and one after the clock was set back', async () => {
    const receiver = await startReceiver()
    const target = toTargetId(toWitnessTarget(receiver.url, undefined))
    const now = Date.now()
    await insert(now)
    const sent = await store.witness.claim({ target, holder: 'x', now, until: now }).then(async () => {
      const unsent = await store.witness.listUnsent(target, toRecent(now), 1000)
      await store.witness.markSent(target, unsent, toRecent(now), now)
      return unsent.length
    })
    expect(sent).toBeGreaterThan(0)
    expect(await store.witness.countUnsent(target, toRecent(now))).toBe(0)
    const [behind] = await insert(now - 5 * MINUTE_MS)
    expect(
      (await store.witness.listUnsent(target, toRecent(now), 9)).map(({ signature }) => signature),
    ).toEqual([behind])
    const [setBack] = await insert(now - 60 * MINUTE_MS)
    const listed = await store.witness.listUnsent(target, toRecent(now - 60 * MINUTE_MS), 1000)
    expect(listed.map(({ signature }) => signature)).toContain(setBack)
    await receiver.close()
  })

  it('sends again what was not accepted, also after a restart, and records the failure', async () => {
    const receiver = await startReceiver()
    const target = toTargetId(toWitnessTarget(receiver.url, undefined))
    receiver.state.status = 503
    const [wanted] = await insert(Date.now())
    const first = send(receiver.url)
    await expect.poll(() => receiver.state.refused).toBeGreaterThan(1)
    await expect.poll(() => store.witness.read(target)).toMatchObject({ failure: 'status 503' })
    await first.close()
    expect(events).toContain('witness_failed')
    expect(receiver.received).toEqual([])
    receiver.state.status = 200
    const second = send(receiver.url, { holder: 'two' })
    await expect.poll(() => receiver.received.map(({ signature }) => signature)).toContain(wanted)
    await expect
      .poll(() => store.witness.read(target))
      .toMatchObject({ failure: undefined, failingSince: undefined })
    await second.close()
    await receiver.close()
  })

  it('is done by one of several processes at a time', async () => {
    const receiver = await startReceiver()
    const other = await place.open()
    const witnesses = [send(receiver.url), send(receiver.url, { holder: 'two', from: other })]
    const target = toTargetId(toWitnessTarget(receiver.url, undefined))
    for (let turn = 0; turn < 5; turn++) await insert(Date.now() + turn)
    await expect.poll(() => store.witness.countUnsent(target, toRecent())).toBe(0)
    const got = receiver.received.map(({ signature }) => signature)
    expect(new Set(got).size).toBe(got.length)
    // The lease is released, so the other goes on.
    await witnesses[0]?.close()
    const [next] = await insert(Date.now() + 10)
    await expect.poll(() => receiver.received.map(({ signature }) => signature)).toContain(next)
    await witnesses[1]?.close()
    await other.close()
    await receiver.close()
  })
})
