import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createRowCleaner } from '../../src/registry/import/clean-row.ts'
import { sealEntry } from '../../src/registry/sealed-entry.ts'
import { toNinPerson, toPhoneCoreOf } from '../../src/simulator/people.ts'
import { qoreid } from '../../src/simulator/qoreid.ts'
import { openStandIn, type VendorScript } from '../../src/simulator/stand-in.ts'
import { toBvnRecord } from '../../src/sources/sandbox/bvn-record.ts'
import { toNinRecord } from '../../src/sources/sandbox/nin-record.ts'
import { bearer, openTestApp, PHONE, type TestApp } from '../app.ts'
import { createTestDatabase, hasPostgres } from '../postgres.ts'

const NIN = '12345678901'
const CORE = PHONE.slice(1)
const PERSON = toNinRecord(NIN, CORE).personal_info
const NAMES = { first_name: PERSON.first_name, last_name: PERSON.last_name }

const toClient = (server: TestApp, url: string) => {
  const send = async (path: string, body: object, key?: string, headers: Record<string, string> = {}) => {
    const answer = await fetch(`${url}/api/v2/kyc/${path}`, {
      method: 'POST',
      headers: { ...bearer(key), 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    })
    const text = await answer.text()
    return { status: answer.status, text, headers: answer.headers, match: answer.headers.get('tabbat-match') }
  }
  const auditOf = async (number: string) =>
    (await server.context.store.audit.bySubject(server.context.toSubjectHash('nin', number))).map(
      ({ phase, outcome, detail }) => ({ phase, outcome, detail }),
    )
  return {
    auditOf,
    send,
    nin: (more: object, key?: string, headers?: Record<string, string>) =>
      send('verify-nin', { nin: NIN, phone: PHONE, ...more }, key, headers),
  }
}

const blank = (text: string) => text.replace(/(ver|req)_[0-9a-z]+/g, '')

describe('in the sandbox', () => {
  let server: TestApp
  let client: ReturnType<typeof toClient>
  beforeAll(async () => {
    server = await openTestApp()
    client = toClient(server, await server.app.listen({ host: '127.0.0.1', port: 0 }))
  })
  afterAll(() => server.close())

  it('nothing changes without details: no header, and the same body', async () => {
    const plain = await client.nin({})
    expect(plain.match).toBe(null)
    expect([...plain.headers.keys()].filter((name) => name !== 'date').sort()).toEqual(
      [
        'cache-control',
        'connection',
        'content-length',
        'content-type',
        'keep-alive',
        'ratelimit',
        'ratelimit-policy',
        'x-request-id',
      ].sort(),
    )
    for (const none of [{ first_name: '' }, { last_name: '  ' }, { date_of_birth: null }]) {
      const answer = await client.nin(none)
      expect(answer.match).toBe(null)
      expect(blank(answer.text)).toBe(blank(plain.text))
    }
    const compared = await client.nin({ first_name: 'Nobody' })
    expect(blank(compared.text)).toBe(blank(plain.text))
  })

  it.each([
    [NAMES, 'first_name=exact, last_name=exact'],
    [{ first_name: PERSON.first_name.toUpperCase() }, 'first_name=exact'],
    [{ first_name: `Mrs. ${PERSON.first_name}` }, 'first_name=exact'],
    [{ first_name: PERSON.last_name, last_name: PERSON.first_name }, 'first_name=exact, last_name=exact'],
    [{ first_name: PERSON.last_name }, 'first_name=partial'],
    [{ last_name: `${PERSON.last_name}-Zzyzx` }, 'last_name=partial'],
    [{ last_name: 'Zzyzx' }, 'last_name=no'],
    [{ date_of_birth: PERSON.date_of_birth }, 'date_of_birth=exact'],
    [
      { date_of_birth: PERSON.date_of_birth.split('-').toReversed().join('-'), last_name: 'Zzyzx' },
      'last_name=no, date_of_birth=exact',
    ],
    [{ date_of_birth: '1901-01-01' }, 'date_of_birth=no'],
  ])('%o: %s', async (details, match) => {
    const answer = await client.nin(details)
    expect(answer.status).toBe(200)
    expect(answer.match).toBe(match)
  })

  it('the example of docs/match.md gets the answer that the page shows', async () => {
    const page = readFileSync('docs/match.md', 'utf8')
    const body = JSON.parse(page.match(/-d '(\{.*\})'/)?.[1] ?? '')
    const answer = await client.send('verify-nin', body)
    expect(answer.status).toBe(200)
    expect(answer.match).toBe(page.match(/^Tabbat-Match: (.*)$/m)?.[1])
  })

  it('compares a BVN too', async () => {
    const { personal_info: info } = toBvnRecord('22345678901', CORE)
    const { first_name, last_name, date_of_birth } = info
    const body = { bvn: '22345678901', phone: PHONE, amount: '1', first_name, last_name, date_of_birth }
    const answer = await client.send('verify-bvn', body)
    expect(answer.match).toBe('first_name=exact, last_name=exact, date_of_birth=exact')
  })

  it('compares long and accented names', async () => {
    const names = { first_name: 'oluwasegun ayobami (Mr)', last_name: 'Nwankwo Adesina Onabanjo' }
    const answer = await client.nin({ nin: '00000000003', ...names })
    expect(answer.match).toBe('first_name=exact, last_name=exact')
  })

  it('says nothing about what the record does not have', async () => {
    expect((await client.nin({ nin: '00000000001', ...NAMES })).match).toBe(null)
  })

  it('says nothing when the phone differs', async () => {
    const answer = await client.nin({ ...NAMES, phone: '08000000000' })
    expect([answer.status, answer.match]).toEqual([422, null])
  })

  it('refuses details of another form, all at once', async () => {
    const answer = await client.nin({ first_name: 7, last_name: '<b>', date_of_birth: '31-02-1990' })
    expect(Object.keys(JSON.parse(answer.text).errors)).toEqual(['first_name', 'last_name', 'date_of_birth'])
    for (const date_of_birth of ['1990-13-01', '05/01/1990', '2999-01-01', '5-1-1990', '05-Foo-1990'])
      expect((await client.nin({ date_of_birth })).status, date_of_birth).toBe(422)
    expect((await client.nin({ first_name: 'a'.repeat(101) })).status).toBe(422)
  })

  it('compares only what the key sees', async () => {
    const hidden = await server.createKey({ hide: ['date_of_birth', 'middle_name', 'full_name'] })
    const details = { ...NAMES, date_of_birth: PERSON.date_of_birth }
    expect((await client.nin(details, hidden)).match).toBe('first_name=exact, last_name=exact')
    expect((await client.nin({ first_name: PERSON.middle_name }, hidden)).match).toBe('first_name=no')
    expect((await client.nin({ first_name: PERSON.middle_name })).match).toBe('first_name=partial')
  })

  it('replays the header, and refuses other details under the same Idempotency-Key', async () => {
    const header = { 'idempotency-key': 'match-1' }
    const first = await client.nin(NAMES, undefined, header)
    const again = await client.nin(NAMES, undefined, header)
    expect(again.headers.get('idempotent-replayed')).toBe('true')
    expect([again.match, again.text]).toEqual([first.match, first.text])
    expect((await client.nin({ ...NAMES, last_name: 'Zzyzx' }, undefined, header)).status).toBe(422)
    expect((await client.nin({}, undefined, header)).status).toBe(422)
  })

  it('is in the audit log without its values', async () => {
    const nin = '12345678955'
    await client.nin({ nin, first_name: 'Zzyzx', date_of_birth: '1901-01-01' })
    expect(await client.auditOf(nin)).toEqual([
      { phase: 'outcome', outcome: 'verified', detail: 'match: first_name=no, date_of_birth=no' },
    ])
  })

  describe('with a key that requires a match', () => {
    it('refuses a request without what must match', async () => {
      const key = await server.createKey({ requireMatch: 'both', requiresConsent: true })
      expect(JSON.parse((await client.nin({ first_name: 'Ada' }, key)).text).errors).toEqual({
        'X-Consent-Reference': ['X-Consent-Reference is required for this key'],
        last_name: ['last_name is required for this key'],
        date_of_birth: ['date_of_birth is required for this key'],
      })
    })

    it('verifies if it matches, also what the key does not see', async () => {
      const key = await server.createKey({ requireMatch: 'dob', hide: ['date_of_birth'] })
      const right = await client.nin({ date_of_birth: PERSON.date_of_birth }, key)
      expect([right.status, right.match]).toEqual([200, null])
      expect((await client.nin({ date_of_birth: '1901-01-01' }, key)).status).toBe(422)
    })

    it('answers a mismatch as an unknown number, byte for byte', async () => {
      const key = await server.createKey({ requireMatch: 'name' })
      const mismatch = await client.nin({ ...NAMES, last_name: 'Zzyzx' }, key)
      const unknown = await client.nin({ ...NAMES, nin: '00000000422' }, key)
      const heads = [mismatch, unknown].map(({ headers }) => [...headers.keys()])
      expect([mismatch.status, mismatch.match]).toEqual([422, null])
      expect(heads[0]).toEqual(heads[1])
      expect(blank(mismatch.text)).toBe(blank(unknown.text))
    })

    it('is no false "not verified" if the record does not have it', async () => {
      const key = await server.createKey({ requireMatch: 'name' })
      expect((await client.nin({ nin: '00000000001', ...NAMES }, key)).status).toBe(502)
    })

    it('keeps the requirement when the key is rolled', async () => {
      const key = await server.createKey({ requireMatch: 'name' })
      const row = await server.context.store.keys.find(key.slice(9, 17))
      expect(row?.requireMatch).toBe('name')
    })
  })
})

const engines = hasPostgres() ? ['SQLite', 'PostgreSQL'] : ['SQLite']

describe.each(engines)('with the registry, on %s', (engine) => {
  let server: TestApp
  let client: ReturnType<typeof toClient>
  beforeAll(async () => {
    server = await openTestApp(
      engine === 'PostgreSQL' ? { TABBAT_DATABASE_URL: await createTestDatabase() } : {},
    )
    client = toClient(server, await server.app.listen({ host: '127.0.0.1', port: 0 }))
    const { store, keyring } = server.context
    const records = ['61', '62', '63', '64'].map((start) => {
      const nin = `${start}000000000`
      return sealEntry(keyring(), 'nin', nin, { record: toNinRecord(nin, CORE), mediaId: null })
    })
    await store.registry.save({ records, media: [], at: Date.now() })
  })
  afterAll(() => server.close())
  const NO = { first_name: 'Zzyzx' }

  /** Imports a record of a NIN and a BVN, and asks for both with a key that requires the names. */
  const askRequired = async (number: string, recorded: object, given: object) => {
    const { store, keyring } = server.context
    const key = await server.createKey({ mode: 'live', requireMatch: 'name' })
    const personal_info = { phone_number: PHONE, date_of_birth: '05-01-1990', ...recorded }
    const records = (['nin', 'bvn'] as const).map((kind) => {
      const { record } = createRowCleaner(kind)({ [`${kind}_number`]: number, personal_info })
      return sealEntry(keyring(), kind, number, { record, mediaId: null })
    })
    await store.registry.save({ records, media: [], at: Date.now() })
    const nin = await client.send('verify-nin', { nin: number, phone: PHONE, ...given }, key)
    const bvn = await client.send('verify-bvn', { bvn: number, phone: PHONE, amount: '1', ...given }, key)
    return [nin, bvn].map(({ status, text }) => `${status} ${JSON.parse(text).code ?? 'verified'}`)
  }
  const OKAFOR = { first_name: 'Ngozi', middle_name: 'Ada', last_name: 'Okafor' }
  const GIVEN = { first_name: 'Ngozi', last_name: 'Okafor' }

  it.each([
    ['66000000001', { first_name: '' }],
    ['66000000002', { last_name: '' }],
    ['66000000003', { first_name: '****' }],
    ['66000000004', { last_name: '********' }],
    ['66000000005', { first_name: '', last_name: '', middle_name: 'Ngozi' }],
  ])('%s: a record with %o decides nothing about the names', async (number, lacking) => {
    const answers = await askRequired(number, { ...OKAFOR, ...lacking }, GIVEN)
    expect(answers).toEqual(['502 source_bad_response', '502 source_bad_response'])
  })

  it.each([
    ['67000000001', { first_name: 'Ngozi', last_name: 'Ngozi' }, '422 not_verified'],
    ['67000000002', { first_name: 'Ada', last_name: 'Ada' }, '422 not_verified'],
    ['67000000003', { first_name: 'Okafor', last_name: 'Okafor' }, '422 not_verified'],
    ['67000000004', { first_name: 'Ngozi (Mrs)', last_name: 'Okafor' }, '200 verified'],
    ['67000000005', { first_name: 'Okafor', last_name: 'Pastor Ngozi' }, '200 verified'],
  ])('%s: each name of the record serves one field of %o', async (number, given, expected) => {
    expect(await askRequired(number, OKAFOR, given)).toEqual([expected, expected])
  })

  it('a detail that differs counts as a wrong guess, also at the same time', async () => {
    const key = await server.createKey({ mode: 'live' })
    const nin = '61000000000'
    const tries = ['Aa', 'Bb', 'Cc', 'Dd', 'Ee', 'Ff', 'Gg', 'Hh']
    const answers = await Promise.all(tries.map((first_name) => client.nin({ nin, first_name }, key)))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 200, 200, 200, 429, 429, 429])
    expect((await client.nin({ nin }, key)).status).toBe(429)
  })

  it('details that match do not count', async () => {
    const key = await server.createKey({ mode: 'live' })
    const nin = '62000000000'
    const { first_name } = toNinRecord(nin, CORE).personal_info
    for (let count = 0; count < 8; count++)
      expect((await client.nin({ nin, first_name }, key)).match).toBe('first_name=exact')
  })

  it('a mismatch of a key that requires a match counts as well', async () => {
    const key = await server.createKey({ mode: 'live', requireMatch: 'name' })
    const statuses: number[] = []
    for (const last_name of ['Aa', 'Bb', 'Cc', 'Dd', 'Ee', 'Ff'])
      statuses.push((await client.nin({ nin: '63000000000', ...NO, last_name }, key)).status)
    expect(statuses).toEqual([422, 422, 422, 422, 422, 429])
  })

  it('an answer through the queue has the header', async () => {
    const key = await server.createKey({ mode: 'live' })
    const nin = '64000000000'
    const { last_name } = toNinRecord(nin, CORE).personal_info
    const answer = await client.nin({ nin, ...NO, last_name }, key, { prefer: 'respond-async, wait=10' })
    expect([answer.status, answer.match]).toEqual([200, 'first_name=no, last_name=exact'])
  })
})

describe('with a vendor that needs names', () => {
  const sent: unknown[] = []
  const recording: VendorScript = {
    ...qoreid,
    answer: (request, fault) => {
      if (request.path !== '/token') sent.push(request.body)
      return qoreid.answer(request, fault)
    },
  }

  it('sends them, and refuses a request without them if there is no other source', async () => {
    const vendor = await openStandIn(recording)
    const server = await openTestApp({
      ...vendor.settings,
      TABBAT_NIN_SOURCES: 'qoreid',
      TABBAT_QOREID_NAMES_OPTIONAL: 'off',
    })
    const client = toClient(server, await server.app.listen({ host: '127.0.0.1', port: 0 }))
    const key = await server.createKey({ mode: 'live' })
    const phone = `0${toPhoneCoreOf(NIN)}`
    const { first_name, last_name } = toNinPerson(NIN).personal_info
    const answer = await client.nin({ phone, first_name, last_name, date_of_birth: '05-Jan-1990' }, key)
    expect(answer.match).toBe('first_name=exact, last_name=exact, date_of_birth=no')
    expect(sent).toEqual([{ firstname: first_name, lastname: last_name, dob: '1990-01-05' }])
    const without = await client.nin({ phone, first_name }, key)
    expect(JSON.parse(without.text).errors).toEqual({
      last_name: ['last_name is required by the source of this server'],
    })
    expect(sent).toHaveLength(1)
    await server.close()
    await vendor.close()
  })
})
