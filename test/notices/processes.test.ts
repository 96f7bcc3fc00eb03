import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Store } from '../../src/context/store.ts'
import { BEGIN_AFTER_MS } from '../../src/notices/incident-rules.ts'
import { newFolder, POSTGRES } from '../engines.ts'
import { hasPostgres } from '../postgres.ts'
import { useProcessClock } from '../webhooks/setup.ts'

const LEASE_MS = 60_000

describe.skipIf(!hasPostgres())('processes on one PostgreSQL', () => {
  let store: Store
  let processes: ChildProcess[]
  beforeEach(async () => {
    const place = await POSTGRES.createPlace()
    store = await place.open()
    await useProcessClock(store)
    const args = [place.options.databaseUrl ?? '', newFolder()]
    processes = [1, 2, 3].map(() => fork(new URL('./node-process.ts', import.meta.url), args))
    await Promise.all(processes.map((each) => once(each, 'message')))
  })
  afterEach(async () => {
    const running = processes.filter((each) => each.exitCode === null && each.signalCode === null)
    const ended = running.map((each) => once(each, 'exit'))
    for (const each of running) each.kill()
    await Promise.all(ended)
    await store.close()
  })

  const order = async (child: ChildProcess | undefined, what: object): Promise<unknown> => {
    if (!child) throw new Error('there is no such process')
    const answer = once(child, 'message')
    child.send(what)
    return (await answer)[0]
  }
  /** All look at the same time, until it has lasted. */
  const begin = async (from: number) => {
    const changes: unknown[] = []
    for (const now of [from, from + BEGIN_AFTER_MS, from + BEGIN_AFTER_MS + 1])
      for (const answer of await Promise.all(
        processes.map((child, index) => order(child, { do: 'report', node: `node-${index}`, now })),
      ))
        changes.push(...(answer as unknown[]))
    return changes
  }

  it('that see an incident at the same time tell it once, and one of them sends it', async () => {
    const from = Date.now()
    expect(await begin(from)).toMatchObject([{ kind: 'began', name: 'sources: dojah' }])
    const now = from + 2 * BEGIN_AFTER_MS
    const claims = await Promise.all(
      processes.map((child) => order(child, { do: 'claim', now, leaseMs: LEASE_MS })),
    )
    expect(claims.filter((claim) => claim !== undefined && claim !== null)).toMatchObject([
      { notices: [{ kind: 'began' }] },
    ])
  })

  it('leave a message to another when one is killed between claim and send', async () => {
    const from = Date.now()
    await begin(from)
    const now = from + 2 * BEGIN_AFTER_MS
    const [victim, other] = processes
    expect(await order(victim, { do: 'claim', now, leaseMs: LEASE_MS })).toMatchObject({ notices: [{}] })
    const gone = once(victim as ChildProcess, 'exit')
    victim?.kill('SIGKILL')
    await gone
    const early = await order(other, { do: 'claim', now: now + LEASE_MS - 1, leaseMs: LEASE_MS })
    expect(early ?? undefined).toBeUndefined()
    expect(await order(other, { do: 'claim', now: now + LEASE_MS, leaseMs: LEASE_MS })).toMatchObject({
      notices: [{ kind: 'began', incident: { name: 'sources: dojah' } }],
    })
  })
})
