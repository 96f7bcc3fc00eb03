import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SANDBOX_KEY } from '../../src/keys/sandbox-key.ts'
import { OPERATIONS } from '../../src/operations/operations.ts'
import { SANDBOX_NUMBERS } from '../../src/sources/sandbox/numbers.ts'
import { readRows } from './audit-rows.ts'
import { openTestConsole, send, type TestConsole } from './test-console.ts'

type Form = {
  operation: string
  path: string
  fields: { name: string; description: string; example: string; choices: string[] | null }[]
  scenarios: { title: string; input: Record<string, string> }[]
}
type TryResult = {
  status: number
  mode: string | null
  ms: number
  headers: Record<string, string>
  body: Body
}
type Body = { code?: string; success?: boolean; data?: Record<string, unknown> }

let at: TestConsole
let operator: string
beforeAll(async () => {
  at = await openTestConsole()
  operator = await at.openSession('operator')
})
afterAll(() => at.close())

const forms = async (place: TestConsole = at) => {
  const answer = await place.request('/admin/try', { cookie: await place.openSession('viewer') })
  return answer.json() as unknown as { operations: Form[]; sandbox_key: string | null; base_url: string }
}
const post = (body: object) => at.request('/admin/try', { cookie: operator, body })
const tryOut = async (operation: string, input: object, key?: string) =>
  (await post({ operation, input, ...(key && { key }) })).json() as unknown as TryResult

describe('the forms of Try it', () => {
  it('are the operations with the descriptions of the contract', async () => {
    const { operations, sandbox_key, base_url } = await forms()
    expect(operations.map(({ operation }) => operation)).toEqual(OPERATIONS.map(({ name }) => name))
    expect([sandbox_key, base_url]).toEqual([SANDBOX_KEY, 'http://127.0.0.1:8080'])
    const [nin] = operations
    expect(nin?.fields).toMatchObject([
      {
        name: 'nin',
        description: expect.stringContaining('11 digits'),
        example: '12345678901',
        choices: null,
      },
      { name: 'phone', required: true },
      { name: 'first_name', required: false },
      { name: 'last_name', required: false },
      { name: 'date_of_birth', required: false },
    ])
    const tv = operations.find(({ operation }) => operation === 'list_tv_add_ons')
    expect(tv?.fields[0]?.choices).toContain('DSTV')
  })

  it('have scenarios with the documented outcomes', async () => {
    const { operations } = await forms()
    const statuses = new Map(SANDBOX_NUMBERS.map(({ number, status }) => [number, status]))
    for (const { operation, scenarios } of operations) {
      expect(scenarios.length, operation).toBeGreaterThan(0)
      for (const { title, input } of scenarios) {
        const expected = Object.values(input).map((text) => statuses.get(text) ?? 200)
        expect((await tryOut(operation, input)).status, title).toBe(Math.max(200, ...expected))
      }
    }
  })

  it('contain TABBAT_PUBLIC_URL if it is set', async () => {
    const other = await openTestConsole({ TABBAT_PUBLIC_URL: 'https://verify.example.com' })
    expect((await forms(other)).base_url).toBe('https://verify.example.com')
    await other.close()
  })
})

describe('a call from Try it', () => {
  it('is a normal verification', async () => {
    const { status, mode, ms, headers, body } = await tryOut('verify_nin', {
      nin: '33333333333',
      phone: '08031234567',
    })
    expect([status, mode, body.success]).toEqual([200, 'test', true])
    expect(ms).toBeGreaterThan(0)
    expect(Object.keys(headers)).toEqual(
      expect.arrayContaining(['content-type', 'x-request-id', 'ratelimit']),
    )
    const reference = body.data?.request_reference
    const row = (await readRows(at, 'outcome')).find(
      ({ request_reference }) => request_reference === reference,
    )
    expect(row).toMatchObject({ key_id: 'sandbox0', outcome: 'verified' })
  })

  it('is audited with the account and the key', async () => {
    const { body } = await tryOut('verify_bvn', { bvn: '33333333334', phone: '08031234567', amount: '1' })
    const rows = (await readRows(at, 'intent', 'outcome')).filter(
      (row) => row.request_reference === body.data?.request_reference,
    )
    const by = { key_id: 'sandbox0', detail: 'Try it; by operator' }
    expect(rows).toMatchObject([{ ...by, phase: 'outcome' }])
    const url = await at.app.listen({ host: '127.0.0.1', port: 0 })
    const called = await send(`${url}/api/v2/kyc/verify-nin`, {
      headers: { authorization: `Bearer ${SANDBOX_KEY}`, person: 'ada', 'x-person': 'ada' },
      body: { nin: '33333333335', phone: '08031234567' },
    })
    const { request_reference } = called.json().data as Record<string, unknown>
    const [row] = (await readRows(at, 'outcome')).filter(
      (each) => each.request_reference === request_reference,
    )
    expect(row?.detail).toBeNull()
  })

  it('sends the headers that were given, and returns those that answer them', async () => {
    const input = { nin: '33333333336', phone: '08031234567', first_name: 'Nobody' }
    const headers = {
      'X-Purpose': 'Loan',
      'X-Consent-Reference': 'consent-4711',
      'Idempotency-Key': 'try-it-1',
      Prefer: '',
    }
    const send = async () =>
      (await post({ operation: 'verify_nin', input, headers })).json() as unknown as TryResult
    const first = await send()
    expect(first.headers['tabbat-match']).toContain('first_name=no')
    const row = (await readRows(at, 'outcome')).find(
      ({ request_reference }) => request_reference === first.body.data?.request_reference,
    )
    expect(row).toMatchObject({ consent_reference: 'consent-4711' })
    expect(row?.detail).toContain('purpose: loan')
    expect((await send()).headers['idempotent-replayed']).toBe('true')
    const later = (
      await post({
        operation: 'verify_nin',
        input,
        headers: { Prefer: 'respond-async' },
      })
    ).json() as unknown as TryResult
    expect([later.status, later.headers['preference-applied']]).toEqual([202, 'respond-async'])
    expect(later.headers.location).toContain('/api/v2/kyc/verifications/ver_')
  })

  it.each([
    [{ 'X-Purpose': 'loan\r\nAuthorization: Bearer x' }, 'headers.X-Purpose'],
    [{ 'X-Consent-Reference': 'Adébáyọ̀' }, 'headers.X-Consent-Reference'],
    [{ authorization: 'Bearer x' }, 'headers'],
    [{ host: 'elsewhere' }, 'headers'],
  ])('refuses headers that would be others: %j', async (headers, field) => {
    const input = { nin: '33333333337', phone: '08031234567' }
    const answer = await post({ operation: 'verify_nin', input, headers })
    expect([answer.status, Object.keys(answer.json().errors as object)]).toEqual([422, [field]])
  })

  it('uses the given key', async () => {
    const live = await at.createKey({ mode: 'live' })
    const { status, mode, body } = await tryOut(
      'verify_nin',
      { nin: '33333333333', phone: '08031234567' },
      live,
    )
    expect([status, mode, body.code]).toEqual([503, 'live', 'source_unavailable'])
    const refused = await tryOut('verify_nin', { nin: '33333333333', phone: '08031234567' }, `${live}x`)
    expect([refused.status, refused.mode]).toEqual([401, null])
  })

  it('accepts only operations and their inputs', async () => {
    expect((await post({ operation: 'drop_tables', input: {} })).status).toBe(422)
    expect((await post({ operation: 'verify_nin', input: { nin: '1', extra: 'x' } })).status).toBe(422)
    expect((await post({ operation: 'list_sme_bundles', input: {}, key: 'a\r\nb: c' })).status).toBe(422)
    const strayed = await tryOut('list_internet_bundles', { provider: '../../sme-data/list?x=' })
    expect([strayed.status, strayed.body.code]).toEqual([404, 'provider_not_found'])
  })

  it('says how to get a test key if the public one is off', async () => {
    const closed = await openTestConsole({ TABBAT_SANDBOX: 'off' })
    expect((await forms(closed)).sandbox_key).toBeNull()
    const answer = await closed.request('/admin/try', {
      cookie: await closed.openSession('operator'),
      body: { operation: 'list_sme_bundles', input: {} },
    })
    expect([answer.status, answer.json().message]).toEqual([409, expect.stringContaining('test key')])
    await closed.close()
  })
})
