import { afterEach, describe, expect, it, vi } from 'vitest'
import { AppError } from '../../src/errors.ts'
import { revokeKey } from '../../src/keys/manage.ts'
import { rotateRoot } from '../../src/registry/rotate.ts'
import { sealEntry, sealMedia } from '../../src/registry/sealed-entry.ts'
import { createApiServer } from '../../src/server/api-server.ts'
import { toNinRecord } from '../../src/sources/sandbox/nin-record.ts'
import { bearer, openTestApp, PHONE } from '../app.ts'
import { createTestDatabase, hasPostgres } from '../postgres.ts'

const PNG = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex')
const NIN = '63000000001'
const opened: { close: () => Promise<unknown> }[] = []
afterEach(async () => {
  vi.restoreAllMocks()
  for (const each of opened.splice(0).reverse()) await each.close()
})

/** A server on a real socket with one person who has a picture. */
async function openServer(engine: string, settings: Record<string, string> = {}) {
  const database = engine === 'PostgreSQL' ? { TABBAT_DATABASE_URL: await createTestDatabase() } : {}
  const server = await openTestApp({ ...database, ...settings })
  opened.push(server)
  const { context } = server
  const [keys, id] = [context.keyring(), Buffer.alloc(16, 9)]
  const record = sealEntry(keys, 'nin', NIN, {
    record: toNinRecord(NIN, PHONE.slice(1)),
    mediaId: id.toString('hex'),
  })
  const media = [sealMedia(keys, id, record.subject, PNG)]
  await context.store.registry.save({ records: [record], media, at: Date.now() })
  const url = await server.app.listen({ host: '127.0.0.1', port: 0 })
  const verify = async (key?: string) => {
    const answer = await fetch(`${url}/api/v2/kyc/verify-nin`, {
      method: 'POST',
      headers: { ...bearer(key), 'content-type': 'application/json' },
      body: JSON.stringify({ nin: NIN, phone: PHONE }),
    })
    const { data } = (await answer.json()) as { data: { personal_info: { image_url: string } } }
    return data.personal_info.image_url
  }
  const call = async (path: string, key: string, body?: object, headers = {}) => {
    const answer = await fetch(`${url}/api/v2/kyc/${path}`, {
      method: body ? 'POST' : 'GET',
      headers: { ...bearer(key), 'content-type': 'application/json', ...headers },
      ...(body && { body: JSON.stringify(body) }),
    })
    return answer.json() as Promise<Answered>
  }
  const rows = async () =>
    (await context.store.audit.bySubject(context.toSubjectHash('nin', NIN))).filter(
      ({ phase }) => phase === 'picture_fetched',
    )
  return { ...server, url, verify, call, rows, key: await server.createKey({ mode: 'live' }) }
}

type Answered = {
  readonly data?: {
    readonly id?: string
    readonly request_reference?: string
    readonly personal_info?: { readonly image_url: string }
  }
}

/** The answer, when there is one. */
async function whenAnswered(read: () => Promise<Answered>): Promise<string> {
  await expect.poll(async () => (await read()).data?.personal_info !== undefined).toBe(true)
  return (await read()).data?.personal_info?.image_url ?? ''
}

const statusOf = async (link: string) => (await fetch(link)).status
const idOf = (key: string) => key.slice(9, 17)
const engines = hasPostgres() ? ['SQLite', 'PostgreSQL'] : ['SQLite']

describe.each(engines)('a link to a picture on %s', (engine) => {
  it('needs no credential, names no person, and every fetch is audited', async () => {
    const { verify, rows, key } = await openServer(engine)
    const link = await verify(key)
    for (const secret of [NIN, PHONE, PHONE.slice(1)]) {
      expect(link).not.toContain(secret)
      expect(Buffer.from(link.split('/').at(-1) ?? '', 'base64url').toString('latin1')).not.toContain(secret)
    }
    const answer = await fetch(link)
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'image/png'])
    expect(Buffer.from(await answer.arrayBuffer()).equals(PNG)).toBe(true)
    await fetch(link)
    const row = { key_id: idOf(key), mode: 'live', operation: 'fetch_picture', outcome: 'ok' }
    expect(await rows()).toMatchObject([row, row])
  })

  it('stops working with its key, and not with another', async () => {
    const { verify, rows, key, createKey, context } = await openServer(engine)
    const other = await createKey({ mode: 'live' })
    const [mine, theirs] = [await verify(key), await verify(other)]
    expect([await statusOf(mine), await statusOf(theirs)]).toEqual([200, 200])
    await revokeKey({ ...context, keyring: context.keyring() }, idOf(key))
    expect([await statusOf(mine), await statusOf(theirs)]).toEqual([404, 200])
    await context.store.database.prepare(`UPDATE api_keys SET expires_at = ${Date.now()}`).run()
    expect(await statusOf(theirs)).toBe(404)
    expect(await rows()).toHaveLength(3)
  })

  it('cannot be changed to another key, time or picture', async () => {
    const { verify, key, createKey } = await openServer(engine)
    const other = await createKey({ mode: 'live' })
    const link = new URL(await verify(key))
    const genuine = Buffer.from(link.pathname.split('/').at(-1) ?? '', 'base64url')
    expect(genuine.toString('latin1')).toContain(idOf(key))
    const statusWith = async (change: (bytes: Buffer) => unknown) => {
      const bytes = Buffer.from(genuine)
      change(bytes)
      return statusOf(new URL(`/media/${bytes.toString('base64url')}`, link).href)
    }
    expect(await statusWith(() => {})).toBe(200)
    expect(await statusWith((bytes) => bytes.write(idOf(other), bytes.indexOf(idOf(key)), 'latin1'))).toBe(
      404,
    )
    // The time stands before the key.
    const timeAt = genuine.indexOf(idOf(key)) - 6
    expect(genuine.readUIntBE(timeAt, 6)).toBeGreaterThan(Date.now())
    expect(await statusWith((bytes) => bytes.writeUIntBE(bytes.readUIntBE(timeAt, 6) + 1, timeAt, 6))).toBe(
      404,
    )
    expect(await statusWith((bytes) => bytes.writeUInt8(bytes.readUInt8(0) ^ 1, 0))).toBe(404)
  })

  it('ends with a rotation of the root key, and a new one works at once, also in a process that did not notice', async () => {
    const { verify, key, context } = await openServer(engine)
    const [old, keyring] = [await verify(key), context.keyring()]
    await rotateRoot(context.config, context)
    const link = await verify(key)
    expect([await statusOf(link), await statusOf(old)]).toEqual([200, 404])
    const unaware = createApiServer({ ...context, keyring: () => keyring })
    opened.push(unaware)
    const url = await unaware.listen({ host: '127.0.0.1', port: 0 })
    expect(await statusOf(new URL(new URL(link).pathname, url).href)).toBe(200)
  })

  it('shows nothing while the audit log cannot be written', async () => {
    const { verify, key, context } = await openServer(engine)
    const link = new URL(await verify(key))
    const record = () => Promise.reject(new AppError('audit_unavailable'))
    const audit = Object.create(context.audit, {
      requireHealthy: { value: () => {} },
      record: { value: record },
    })
    const app = createApiServer({ ...context, audit })
    opened.push(app)
    const answer = await fetch(new URL(link.pathname, await app.listen({ host: '127.0.0.1', port: 0 })))
    expect(answer.status).toBe(503)
    expect(await answer.json()).toMatchObject({ code: 'audit_unavailable' })
  })

  it('is new whenever the answer of a pending verification, or of a row of a batch, is read', async () => {
    const { call, key } = await openServer(engine)
    const asked = { nin: NIN, phone: PHONE }
    const { data } = await call('verify-nin', key, asked, { prefer: 'respond-async' })
    const batch = await call('batches', key, [{ operation: 'verify_nin', ...asked }])
    const reads = [
      () => call(`verifications/${data?.request_reference}`, key),
      () => call(`batches/${batch.data?.id}/results`, key),
    ]
    const links = await Promise.all(reads.map(whenAnswered))
    const now = Date.now.bind(Date)
    vi.spyOn(Date, 'now').mockImplementation(() => now() + 16 * 60_000)
    const later = await Promise.all(reads.map(whenAnswered))
    expect(await Promise.all(links.map(statusOf))).toEqual([404, 404])
    expect(await Promise.all(later.map(statusOf))).toEqual([200, 200])
  })

  it('has a rate limit of its own, apart from that of its key', async () => {
    const { verify, key } = await openServer(engine, { TABBAT_RATE_LIMIT: '2' })
    const link = await verify(key)
    expect([await statusOf(link), await statusOf(link), await statusOf(link)]).toEqual([200, 200, 429])
    expect(await statusOf(await verify(key))).toBe(429)
  })
})

it('a portrait of the sandbox is public, and leaves no audit row', async () => {
  const { verify, context } = await openServer('SQLite')
  expect(await statusOf(await verify())).toBe(200)
  const rows = await context.store.database.prepare('SELECT phase FROM audit').all()
  expect(rows.map(({ phase }) => phase)).not.toContain('picture_fetched')
})
