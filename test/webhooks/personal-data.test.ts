import { mkdtempSync, openSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { loadConfig } from '../../src/context/config.ts'
import type { Context } from '../../src/context/context.ts'
import { type ApiServer, createApiServer } from '../../src/server/api-server.ts'
import { createContext } from '../../src/server/create-context.ts'
import { createLog } from '../../src/telemetry/log.ts'
import {
  createEndpoint,
  type EndpointDeps,
  resendEvent,
  rollEndpoint,
  testEndpoint,
} from '../../src/webhooks/manage.ts'
import { bearer } from '../app.ts'
import { inject } from '../inject.ts'
import { createTestDatabase, hasPostgres } from '../postgres.ts'
import { type Receiver, startReceiver } from './receiver.ts'

const PERSON = { nin: '73519284650', phone: '8147730921' }
const ROW = { nin: '64820193755', phone: '7046619283', reference: 'Zzyzxcanary Adaobi' }

/** Every way in which a value could be written down. */
const toSpellings = (value: string) => [
  value,
  Buffer.from(value).toString('hex'),
  Buffer.from(value).toString('base64').replace(/=+$/, '').slice(0, -1),
  encodeURIComponent(value),
]

const ENGINES = [
  ['SQLite', async () => ({})],
  ['PostgreSQL', async () => ({ TABBAT_DATABASE_URL: await createTestDatabase() })],
] as const

describe.each(ENGINES)('webhooks on %s', (engine, toSettings) => {
  const isMissing = engine === 'PostgreSQL' && !hasPostgres()
  let [logFile, context, app, receiver, deps]: [string, Context, ApiServer, Receiver, EndpointDeps] =
    [] as never
  beforeEach(async () => {
    if (isMissing) return
    const folder = mkdtempSync(join(tmpdir(), 'tabbat-test-'))
    logFile = join(folder, 'log')
    const settings = { TABBAT_DATA_DIR: folder, TABBAT_WEBHOOKS_PRIVATE: 'on', ...(await toSettings()) }
    context = await createContext(loadConfig(settings, ''), createLog('trace', openSync(logFile, 'w')))
    app = createApiServer(context)
    receiver = await startReceiver()
    const { store, audit } = context
    deps = { store, audit, keyring: context.keyring(), allowPrivate: true }
  })
  afterEach(async () => {
    if (isMissing) return
    await app.close()
    await context.close()
    await receiver.close()
  })
  const create = async () =>
    (
      await createEndpoint(deps, {
        ...{ name: 'all', url: receiver.url, keys: [] },
        events: ['verification.completed', 'batch.completed', 'catalogue.changed'],
      })
    ).row
  const post = (url: string, payload: object, headers: Record<string, string> = {}) =>
    inject(app, { method: 'POST', url, headers: { ...bearer(), ...headers }, payload })
  const read = async (sql: string) => JSON.stringify(await context.store.database.prepare(sql).all())

  it.skipIf(isMissing)(
    'tell and log the end of verifications and batches without personal data',
    async () => {
      const { id } = await create()
      const single = await post(
        '/api/v2/kyc/verify-nin',
        { nin: PERSON.nin, phone: `0${PERSON.phone}` },
        { prefer: 'respond-async', 'idempotency-key': 'personal-1' },
      )
      expect(single.statusCode).toBe(202)
      const rows = [{ operation: 'verify_nin', ...ROW, phone: `0${ROW.phone}` }]
      const batch = await post('/api/v2/kyc/batches', rows)
      expect(batch.statusCode).toBe(202)
      await receiver.wait(2)
      const types = receiver.received.map(({ body }) => JSON.parse(body).type)
      expect(types.toSorted()).toEqual(['batch.completed', 'verification.completed'])
      const readLog = () => readFileSync(logFile, 'utf8')
      const countLogged = (event: string) => readLog().split(`"event":"${event}"`).length - 1
      await expect.poll(() => countLogged('batch.completed')).toBe(1)
      expect(countLogged('verification.completed')).toBe(1)

      const answer = await inject(app, { url: String(single.headers.location), headers: bearer() })
      const { first_name, last_name } = answer.json().data.personal_info
      const seen = [
        ...[JSON.stringify(receiver.received), readLog()],
        JSON.stringify(await deps.store.deliveries.list({ endpointId: id, most: 10 })),
        await read('SELECT * FROM webhook_deliveries'),
        await read('SELECT * FROM webhook_attempts'),
      ].join('\n')
      for (const value of [...Object.values(PERSON), ...Object.values(ROW), `${first_name} ${last_name}`])
        for (const spelling of toSpellings(value)) expect(seen.includes(spelling), value).toBe(false)
      expect(await read('SELECT * FROM unlogged_events')).toBe('[]')
    },
  )

  it.skipIf(isMissing)('audit each roll, test and resend, also of the end of a batch', async () => {
    const { id } = await create()
    await post('/api/v2/kyc/batches', [{ operation: 'verify_nin', nin: 'no number' }])
    await receiver.wait(1)
    const eventId = String(receiver.received[0]?.headers['webhook-id'])
    await rollEndpoint(deps, id, 0)
    await testEndpoint(deps, id, context.webhooks.post)
    await receiver.wait(2)
    await resendEvent(deps, id, eventId)
    await receiver.wait(3)
    expect(receiver.received[2]?.headers['webhook-id']).toBe(eventId)
    const phases = await read(
      "SELECT phase, detail FROM audit WHERE phase LIKE 'webhook%' ORDER BY chain, sequence",
    )
    expect(JSON.parse(phases)).toEqual([
      { phase: 'webhook_created', detail: expect.stringMatching(`^endpoint ${id} granted {"name":`) },
      { phase: 'webhook_rolled', detail: `endpoint ${id}` },
      { phase: 'webhook_tested', detail: `endpoint ${id}` },
      { phase: 'webhook_resent', detail: `endpoint ${id} ${eventId}` },
    ])
  })
})
