import { mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { ADMIN_ROUTES } from '../../src/admin/routes.ts'
import { buildAdminServer } from '../../src/admin/server.ts'
import { loadConfig } from '../../src/context/config.ts'
import { SCOPES } from '../../src/contract/scope.ts'
import { createKey } from '../../src/keys/manage.ts'
import { sealEntry } from '../../src/registry/sealed-entry.ts'
import { createApiServer } from '../../src/server/api-server.ts'
import { createContext } from '../../src/server/create-context.ts'
import { CANARY, FAULTS } from '../../src/simulator/faults.ts'
import { toPhoneCoreOf } from '../../src/simulator/people.ts'
import { openStandIn } from '../../src/simulator/stand-in.ts'
import { IDENTITY_VENDORS } from '../../src/simulator/vendors.ts'
import { toNinRecord } from '../../src/sources/sandbox/nin-record.ts'
import { namesWith } from '../../src/sources/vendors.ts'
import { createLog } from '../../src/telemetry/log.ts'
import { toSample } from '../admin/sample.ts'
import { createQuickAuthentication, createSession } from '../admin/test-console.ts'
import { bearer } from '../app.ts'
import { inject } from '../inject.ts'

/** Without the faults that hang: they send no text, and would take 8 seconds each. */
const QUICK = FAULTS.filter((fault) => !['slow_headers', 'slow_body', 'dripping'].includes(fault))

const NIN = '73519284650'
const PHONE = toPhoneCoreOf(NIN)
const OTHER_PHONE = '8160042579'

/** A server, and everything that it writes and shows. Its answers are added unless a person is verified. */
async function openWatched(settings: Record<string, string> = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'tabbat-no-leaks-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'log')
  const log = createLog('trace', openSync(path, 'w'))
  const context = await createContext(loadConfig({ ...settings, TABBAT_DATA_DIR: folder }, ''), log)
  const app = createApiServer(context)
  const options = { name: 'x', mode: 'live', scopes: SCOPES, expiresAt: undefined, allowedIps: undefined }
  const { text: key } = await createKey({ ...context, keyring: context.keyring() }, options as never)
  const outputs: string[] = []
  const verify = async (kind: 'nin' | 'bvn', number: string, phone: string, headers = {}) => {
    const answer = await inject(app, {
      method: 'POST',
      url: `/api/v2/kyc/verify-${kind}`,
      headers: { ...bearer(key), ...headers },
      payload: { [kind]: number, phone: `0${phone}`, ...(kind === 'bvn' && { amount: '1' }) },
    })
    // A verified answer contains the record of the person.
    if (answer.statusCode !== 200) outputs.push(answer.body, JSON.stringify(answer.headers))
    return answer.statusCode
  }
  const readPages = async () => {
    const admin = buildAdminServer(context, app, { authentication: createQuickAuthentication(context) })
    const cookie = await createSession(context, 'owner', 'owner')
    for (const { method, path, input } of ADMIN_ROUTES) {
      // Streams do not end. The settings show the names of accounts at vendors, which are no secrets.
      if (method !== 'GET' || /:|events|settings/.test(path)) continue
      const query = input ? `?${new URLSearchParams(toSample(input) as Record<string, string>)}` : ''
      outputs.push((await inject(admin, { url: path + query, headers: { cookie } })).body)
    }
    for (const url of ['/health', '/health/ready', '/api/v2/status', '/docs', '/openapi.json'])
      outputs.push((await inject(app, { url, headers: bearer(key) })).body)
    await admin.close()
  }
  /** Closes it. The log is the last one, the audit log the one before. */
  const readAll = async () => {
    await readPages()
    outputs.push(await context.metrics.print())
    outputs.push(JSON.stringify(await context.store.database.prepare('SELECT * FROM audit').all()))
    await app.close()
    await context.close()
    log.flush()
    outputs.push(readFileSync(path, 'utf8'))
    return outputs
  }
  return { context, verify, readAll }
}

function expectNone(outputs: readonly string[], secrets: readonly string[]): void {
  const found = secrets.flatMap((secret) =>
    [secret, Buffer.from(secret).toString('base64').slice(0, 14)].flatMap((spelling) =>
      outputs.filter((text) => text.includes(spelling)).map((text) => `${secret} in ${text.slice(0, 200)}`),
    ),
  )
  expect(found).toEqual([])
}

it('no personal data and no text of a vendor is in a log, an answer, a metric or the audit log', async () => {
  const vendors = await Promise.all(IDENTITY_VENDORS.map((script) => openStandIn(script)))
  // Not every vendor has both operations.
  const orderOf = (ability: 'nin' | 'bvn') =>
    IDENTITY_VENDORS.map(({ name }) => name)
      .filter((name) => namesWith(ability).includes(name))
      .join()
  const { verify, readAll } = await openWatched({
    ...Object.assign({}, ...vendors.map((vendor) => vendor.settings)),
    TABBAT_NIN_SOURCES: orderOf('nin'),
    TABBAT_BVN_SOURCES: orderOf('bvn'),
  })
  expect(await verify('nin', NIN, OTHER_PHONE)).toBe(422)
  for (const fault of QUICK) {
    for (const vendor of vendors) vendor.fail(fault)
    for (const kind of ['nin', 'bvn'] as const) await verify(kind, NIN, PHONE)
  }
  // Failures about one person do not open a breaker.
  const people = Array.from({ length: 8 }, (_each, index) => String(73_519_284_651 + index))
  for (const vendor of vendors) vendor.fail('failing')
  for (const number of people) for (const kind of ['nin', 'bvn'] as const) await verify(kind, number, PHONE)
  const outputs = await readAll()
  await Promise.all(vendors.map((vendor) => vendor.close()))
  expect(outputs.at(-1)).toContain('"outcome":"source_')
  expect(outputs.at(-1)).toMatch(/"event":"source_breaker".*"state":"open"/)
  expect(JSON.parse(outputs.at(-2) ?? '[]').length).toBeGreaterThan(QUICK.length)
  expectNone(outputs, [NIN, ...people, PHONE, OTHER_PHONE, CANARY, 'Vendortext', 'simulated-'])
})

it('no personal data of an own record is in a log, a refusal, a metric, a page of the console or the audit log', async () => {
  const { context, verify, readAll } = await openWatched()
  const record = toNinRecord(NIN, PHONE)
  const named = { ...record, personal_info: { ...record.personal_info, first_name: 'Zzyzxcanary' } }
  const entry = sealEntry(context.keyring(), 'nin', NIN, { record: named, mediaId: null })
  await context.store.registry.save({ records: [entry], media: [], at: Date.now() })
  const unknown = '73519284661'
  expect(await verify('nin', NIN, OTHER_PHONE)).toBe(422)
  expect(await verify('nin', unknown, PHONE)).toBe(422)
  expect(await verify('nin', NIN, PHONE, { 'idempotency-key': 'once' })).toBe(200)
  expect(await verify('nin', unknown, PHONE, { 'idempotency-key': 'once' })).toBe(422)
  expect(await verify('nin', NIN, '12')).toBe(422)
  expect(await verify('nin', NIN.slice(1), PHONE)).toBe(422)
  for (let guess = 0; guess < 4; guess++) await verify('nin', NIN, `816004251${guess}`)
  expect(await verify('nin', NIN, PHONE)).toBe(429)
  expectNone(await readAll(), [NIN, NIN.slice(1), unknown, PHONE, OTHER_PHONE, '816004251', 'Zzyzxcanary'])
})
