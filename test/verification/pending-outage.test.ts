import { afterEach, expect, it } from 'vitest'
import type { NinRecord } from '../../src/contract/nin.ts'
import { type CallGuard, createCallGuard, createCooldown } from '../../src/sources/guard/call-guard.ts'
import { createSharedState } from '../../src/sources/guard/shared-state.ts'
import { toNinRecord } from '../../src/sources/sandbox/nin-record.ts'
import type { Source } from '../../src/sources/source.ts'
import { SourceError } from '../../src/sources/source.ts'
import { createQueueWorker } from '../../src/verification/queue/worker.ts'
import { bearer, openTestApp, PHONE } from '../app.ts'
import { createTestDatabase, hasPostgres } from '../postgres.ts'

const opened: { close: () => Promise<unknown> }[] = []
afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await each.close()
})

const MINUTE = 60_000
const QUESTIONS = 30
const engines = hasPostgres() ? ['SQLite', 'PostgreSQL'] : ['SQLite']

/** A vendor that can be down, in a server whose time passes only by `advance`. Own records are asked first, if there are any. */
async function openOutage(engine: string, own: readonly string[] = []) {
  const database = engine === 'PostgreSQL' ? { TABBAT_DATABASE_URL: await createTestDatabase() } : {}
  const server = await openTestApp({ ...database, TABBAT_NOT_FOUND: 'next' }, { isStopping: true })
  opened.push(server)
  const { context } = server
  // The worker of the server is replaced by one whose clock is ours.
  const clock = { ms: 0 }
  const vendor = { isDown: true, isOff: false, calls: 0, callsWhileDown: 0 }
  const source: Source = {
    name: 'vendor',
    isExternal: true,
    findNin: async ({ nin, phone }): Promise<{ found: true; record: NinRecord }> => {
      vendor.calls += 1
      if (!vendor.isDown) return { found: true, record: toNinRecord(nin, phone) }
      vendor.callsWhileDown += 1
      throw new SourceError('vendor', 'unreachable', { sent: false })
    },
  }
  const records: Source = {
    name: 'registry',
    isExternal: false,
    findNin: async ({ nin, phone }) =>
      own.includes(nin) ? { found: true, record: toNinRecord(nin, phone) } : { found: false },
  }
  const now = () => clock.ms
  const sharedState = createSharedState({
    table: context.store.sources,
    node: 'here',
    leases: context.leases,
  })
  const guard: CallGuard = createCallGuard('vendor', 'verify_nin', sharedState, {
    now,
    cooldown: createCooldown(now),
  })
  const switchable: CallGuard = {
    ...guard,
    isAvailable: () => !vendor.isOff && guard.isAvailable(),
    admit: async (call) => (vendor.isOff ? 'breaker_open' : guard.admit(call)),
  }
  const chain = {
    nin: [...(own.length > 0 ? [{ source: records }] : []), { source, guard: switchable }],
    bvn: [],
  }
  const deps = { ...context, sources: { ...context.sources, live: chain } }
  const failures: unknown[] = []
  const worker = createQueueWorker(deps, {
    owner: context.audit.owner,
    onFailure: (error) => failures.push(error),
    monotonicNow: now,
  })
  const advance = async (ms: number) => {
    clock.ms += ms
    await context.store.database
      .prepare('UPDATE queued_verifications SET due_at = due_at - $1, expires_at = expires_at - $1')
      .run(ms)
    // Until nothing more is due.
    for (let next = 0; next === 0; next = await worker.beginDue()) await worker.idle()
    await worker.idle()
  }
  const key = await server.createKey({ mode: 'live' })
  const accept = async (nin: string) => {
    const answer = await server.app.inject({
      method: 'POST',
      url: '/api/v2/kyc/verify-nin',
      headers: { ...bearer(key), prefer: 'respond-async' },
      payload: { nin, phone: PHONE },
    })
    expect(answer.statusCode).toBe(202)
    return answer.json().data.request_reference as string
  }
  const read = async (reference: string) =>
    (
      await server.app.inject({
        method: 'GET',
        url: `/api/v2/kyc/verifications/${reference}`,
        headers: bearer(key),
      })
    ).statusCode
  const count = async (reference: string, wanted: string) =>
    (await context.store.audit.byReference(reference)).filter(({ phase }) => phase === wanted).length
  const outcomes = (reference: string) => count(reference, 'outcome')
  const attempts = (reference: string) => count(reference, 'attempt')
  return { accept, advance, read, outcomes, attempts, vendor, failures, context }
}

it.each(engines)('answers every question after a vendor was down for an hour, on %s', async (engine) => {
  const { accept, advance, read, outcomes, vendor, failures, context } = await openOutage(engine)
  const references: string[] = []
  for (let index = 0; index < QUESTIONS; index++)
    references.push(await accept(`3${String(index).padStart(10, '0')}`))
  for (let minutes = 0; minutes < 60; minutes += 0.25) await advance(MINUTE / 4)
  for (const reference of references) expect(await read(reference)).toBe(202)
  // The breaker stops the attempts: it lets about one probe a minute pass. Each attempt calls twice, because nothing was sent.
  expect(vendor.callsWhileDown).toBeLessThan(200)
  const during = vendor.callsWhileDown
  vendor.isDown = false
  for (let minutes = 0; minutes < 20; minutes += 0.25) await advance(MINUTE / 4)
  for (const reference of references) {
    expect(await read(reference)).toBe(200)
    expect(await outcomes(reference)).toBe(1)
  }
  expect(vendor.calls - during).toBe(QUESTIONS)
  expect(failures).toEqual([])
  const paid = await context.store.database
    .prepare('SELECT MAX(paid_calls) AS most FROM queued_verifications')
    .get()
  expect(Number(paid?.most)).toBe(1)
})

it.each(engines)('expires every question when the vendor stays down, on %s', async (engine) => {
  const { accept, advance, read, outcomes } = await openOutage(engine)
  const references = [await accept('30000000001'), await accept('30000000002')]
  await advance(1000)
  for (let hours = 0; hours < 25; hours++) await advance(60 * MINUTE)
  for (const reference of references) {
    expect(await read(reference)).toBe(504)
    expect(await outcomes(reference)).toBe(1)
  }
})

it.each(engines)('answers from own records while no vendor may be called, on %s', async (engine) => {
  const known = '30000000007'
  const { accept, advance, read, attempts, vendor } = await openOutage(engine, [known])
  vendor.isOff = true
  const [other, own] = [await accept('30000000002'), await accept(known)]
  await advance(1000)
  expect([await read(own), await read(other)]).toEqual([200, 202])
  // The other is not asked about again and again, and keeps no later one from its first attempt.
  for (let minutes = 0; minutes < 60; minutes++) await advance(MINUTE)
  const later = await accept(known)
  await advance(1000)
  expect([await read(later), vendor.calls, await attempts(other)]).toEqual([200, 0, 1])
  Object.assign(vendor, { isDown: false, isOff: false })
  await advance(1000)
  expect(await read(other)).toBe(200)
})
