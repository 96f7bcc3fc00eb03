import { afterEach, describe, expect, it } from 'vitest'
import type { Context } from '../../src/context/context.ts'
import { erasePerson } from '../../src/people/erase-person.ts'
import { sealEntry, sealMedia } from '../../src/registry/sealed-entry.ts'
import { createApiServer } from '../../src/server/api-server.ts'
import { dojah } from '../../src/simulator/dojah.ts'
import { toPhoneCoreOf } from '../../src/simulator/people.ts'
import { openStandIn } from '../../src/simulator/stand-in.ts'
import { toNinRecord } from '../../src/sources/sandbox/nin-record.ts'
import { bearer, openTestApp, PHONE, type TestApp } from '../app.ts'
import { createStandIn, withStandIn } from '../battery/stand-in.ts'
import { createTestDatabase, hasPostgres } from '../postgres.ts'

const PNG = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex')
const NOTHING = { records: 0, pictures: 0, keptAnswers: 0, reusedResults: 0, queued: 0, batchLabels: 0 }
const opened: { close: () => Promise<unknown> }[] = []
afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await each.close()
})

const erase = (context: Context, nin: string) =>
  erasePerson({ ...context, keyring: context.keyring() }, 'nin', nin)

/** A server on a real socket. */
async function openServer(engine: string, settings: Record<string, string> = {}) {
  const database = engine === 'PostgreSQL' ? { TABBAT_DATABASE_URL: await createTestDatabase() } : {}
  const server = await openTestApp({ ...database, ...settings })
  opened.push(server)
  return { ...server, key: await server.createKey({ mode: 'live' }), url: await listen(server.app) }
}

const listen = (app: Pick<TestApp['app'], 'listen'>) => app.listen({ host: '127.0.0.1', port: 0 })

async function verify(url: string, key: string, nin: string, header: string, phone = PHONE) {
  const answer = await fetch(`${url}/api/v2/kyc/verify-nin`, {
    method: 'POST',
    headers: { ...bearer(key), 'content-type': 'application/json', 'idempotency-key': header },
    body: JSON.stringify({ nin, phone }),
  })
  return { status: answer.status, headers: answer.headers, text: await answer.text() }
}

async function fillRegistry({ keyring, store }: Context, ...numbers: string[]): Promise<void> {
  const [keys, picture] = [keyring(), Buffer.alloc(16, 7)]
  const records = numbers.map((nin, index) => {
    const record = toNinRecord(nin, PHONE.slice(1))
    const personal_info = { ...record.personal_info, first_name: `Canary${nin}`, image_url: '' }
    const mediaId = index === 0 ? picture.toString('hex') : null
    return sealEntry(keys, 'nin', nin, { record: { ...record, personal_info }, mediaId })
  })
  const media = [sealMedia(keys, picture, records[0]?.subject ?? picture, PNG)]
  await store.registry.save({ records, media, at: Date.now() })
}

const engines = hasPostgres() ? ['SQLite', 'PostgreSQL'] : ['SQLite']

describe.each(engines)('after an erasure on %s', (engine) => {
  it('a replay is not verified, the picture is deleted, and other records stay', async () => {
    const { context, key, url } = await openServer(engine)
    const [gone, other] = ['62000000001', '62000000002']
    await fillRegistry(context, gone, other)
    const first = await verify(url, key, gone, 'order-1')
    const theirs = await verify(url, key, other, 'order-2')
    await verify(url, key, gone, 'order-3')
    const link = new URL(JSON.parse(first.text).data.personal_info.image_url)
    expect(await erase(context, gone)).toEqual({ ...NOTHING, records: 1, pictures: 1, keptAnswers: 2 })
    const again = await verify(url, key, gone, 'order-1')
    expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([422, null])
    expect(again.text).not.toContain('Canary')
    expect((await fetch(`${url}${link.pathname}`)).status).toBe(404)
    const kept = await verify(url, key, other, 'order-2')
    expect([kept.headers.get('idempotent-replayed'), kept.text]).toEqual(['true', theirs.text])
    const rows = await context.store.audit.bySubject(context.toSubjectHash('nin', gone))
    expect(rows.find(({ phase }) => phase === 'record_erased')).toMatchObject({
      outcome: 'erased',
      detail: 'nin: 1 record, 1 picture, 2 kept answers',
    })
    // The response of the retry is stored, too.
    expect(await erase(context, gone)).toEqual({ ...NOTHING, keptAnswers: 1 })
    expect(await erase(context, gone)).toEqual(NOTHING)
  })

  it('nothing is left of a vendor’s record, and the same Idempotency-Key does not pay for it again', async () => {
    const vendor = await openStandIn(dojah)
    opened.push(vendor)
    const settings = { ...vendor.settings, TABBAT_NIN_SOURCES: 'dojah', TABBAT_REUSE: '24h' }
    const { context, key, url } = await openServer(engine, settings)
    const [nin, phone] = ['12345678901', `0${toPhoneCoreOf('12345678901')}`]
    expect((await verify(url, key, nin, 'order-1', phone)).status).toBe(200)
    expect(await erase(context, nin)).toEqual({ ...NOTHING, keptAnswers: 1, reusedResults: 1 })
    const again = await verify(url, key, nin, 'order-1', phone)
    expect([again.status, JSON.parse(again.text).retryable, vendor.count()]).toEqual([503, false, 1])
    expect((await verify(url, key, nin, 'order-2', phone)).status).toBe(200)
    expect(vendor.count()).toBe(2)
  })

  it('a request that was running stores nothing', async () => {
    const server = await openServer(engine, { TABBAT_REUSE: '24h' })
    const source = createStandIn(true)
    const app = createApiServer(withStandIn(server.context, source))
    opened.push(app)
    const url = await listen(app)
    const letGo = source.hold()
    const slow = verify(url, server.key, '62000000003', 'order-1')
    await source.wasAsked(1)
    expect(await erase(server.context, '62000000003')).toEqual(NOTHING)
    letGo()
    const { status, text } = await slow
    expect([status, JSON.parse(text).code]).toEqual([409, 'idempotency_in_progress'])
    expect(await erase(server.context, '62000000003')).toEqual(NOTHING)
  })

  it('a request that was answered during the erasure stores nothing', async () => {
    const { context, key, url } = await openServer(engine)
    const nin = '62000000007'
    await fillRegistry(context, nin)
    const { erasure } = context.store
    // In PostgreSQL this request may not see the erasure, and the erasure does not see its answer.
    const erasePast: typeof erasure.erase = async (subject, now) => {
      const erased = await erasure.erase(subject, now)
      await fillRegistry(context, nin)
      expect((await verify(url, key, nin, 'order-1')).status).toBe(200)
      return erased
    }
    const store = { ...context.store, erasure: { ...erasure, erase: erasePast } }
    const deps = { ...context, store, keyring: context.keyring() }
    expect(await erasePerson(deps, 'nin', nin)).toMatchObject({ records: 1, keptAnswers: 1 })
    const kept = await context.store.database
      .prepare('SELECT COUNT(*) AS kept FROM idempotency WHERE sealed IS NOT NULL')
      .get()
    expect(Number(kept?.kept)).toBe(0)
  })

  it('a stored response of an older version is deleted, and those of other people stay', async () => {
    const { context, key, url } = await openServer(engine)
    const [gone, other] = ['62000000004', '62000000005']
    await fillRegistry(context, gone, other)
    await verify(url, key, gone, 'order-1')
    await verify(url, key, other, 'order-2')
    await context.store.database.prepare('UPDATE idempotency SET subject = NULL').run()
    expect(await erase(context, gone)).toMatchObject({ records: 1, keptAnswers: 1 })
    expect((await verify(url, key, gone, 'order-1')).status).toBe(422)
    const kept = await verify(url, key, other, 'order-2')
    expect([kept.status, kept.headers.get('idempotent-replayed')]).toEqual([200, 'true'])
  })

  it('the guess limit is unchanged', async () => {
    const { context, key, url } = await openServer(engine)
    await fillRegistry(context, '62000000006')
    const guess = (index: number) => verify(url, key, '62000000006', `order-${index}`, `0803000000${index}`)
    for (const index of [1, 2, 3, 4, 5]) expect((await guess(index)).status).toBe(422)
    await erase(context, '62000000006')
    expect((await guess(6)).status).toBe(429)
  })
})
