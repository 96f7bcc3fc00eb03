import { afterEach, describe, expect, it } from 'vitest'
import { indexSubjects } from '../../src/audit/index-subjects.ts'
import { bearer, openTestApp, PHONE } from '../app.ts'
import { createTestDatabase, hasPostgres } from '../postgres.ts'
import { tabbat } from '../registry/run.ts'

const opened: { close: () => Promise<unknown> }[] = []
afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await each.close()
})

const engines = hasPostgres() ? ['SQLite', 'PostgreSQL'] : ['SQLite']

async function openServer(engine: string, settings: Record<string, string> = {}) {
  const database = engine === 'PostgreSQL' ? { TABBAT_DATABASE_URL: await createTestDatabase() } : {}
  const server = await openTestApp({ ...database, ...settings })
  opened.push(server)
  const verify = (nin: string, headers: Record<string, string>) =>
    server.app.inject({
      method: 'POST',
      url: '/api/v2/kyc/verify-nin',
      headers: { ...bearer(), ...headers },
      payload: { nin, phone: PHONE },
    })
  const run = (...args: string[]) =>
    tabbat({ TABBAT_DATA_DIR: server.context.config.dataDir, ...database }, ['consents', ...args])
  return { ...server, verify, run }
}

describe.each(engines)('consents on %s', (engine) => {
  it('are listed by reference, with purposes and people counted', async () => {
    const { verify, run, context } = await openServer(engine)
    await verify('12345678901', { 'x-consent-reference': 'shop/1', 'x-purpose': 'loan' })
    await verify('12345678902', { 'x-consent-reference': 'shop/1', 'x-purpose': 'Account-Opening' })
    await verify('12345678902', { 'x-consent-reference': 'shop/2' })
    await verify('12345678903', {})
    const listed = await run('--json')
    expect(JSON.parse(listed.stdout)).toMatchObject({
      searched_back_to: null,
      consents: [
        { consent_reference: 'shop/2', verifications: 1, people: 1, purposes: [] },
        { consent_reference: 'shop/1', verifications: 2, people: 2, purposes: ['account-opening', 'loan'] },
      ],
    })
    expect(listed.stdout + listed.stderr).not.toMatch(/1234567890/)
    const loans = JSON.parse((await run('--purpose', 'LOAN', '--json')).stdout)
    expect(loans.consents).toMatchObject([{ consent_reference: 'shop/1', verifications: 1 }])
    const one = JSON.parse((await run('shop/1', '--json')).stdout)
    expect(one.requests).toMatchObject([
      { purpose: 'loan', outcome: 'verified', operation: 'verify_nin' },
      { purpose: 'account-opening', outcome: 'verified' },
    ])
    expect((await run('shop/1')).stdout).toContain('account-opening')
    const none = await run('shop/3')
    expect([none.code, none.stderr]).toEqual([
      1,
      expect.stringContaining('no verification with this consent'),
    ])
    expect((await run('--since', 'yesterday-ish')).code).toBe(1)
    // The search is recorded.
    const rows = await context.store.database
      .prepare("SELECT detail FROM audit WHERE phase = 'audit_searched'")
      .all()
    expect(rows.length).toBeGreaterThanOrEqual(4)
  })

  it('are found by blocks and in the rows after them, also one that looks like a hash', async () => {
    const { verify, context } = await openServer(engine)
    const hex = 'abcdefabcdef0011abcdefabcdef0022'
    for (const consent of ['shop/1', hex, 'shop/2', 'shop/1'])
      await verify('12345678901', { 'x-consent-reference': consent })
    const { audit, consents } = context.store
    const find = async (consent: string) => (await audit.byConsent(consent)).length
    expect([await find('shop/1'), await find(hex), await find('shop/9')]).toEqual([2, 1, 0])
    expect(await indexSubjects(consents, { blockRows: 2, leastRows: 1 })).toBe(2)
    await verify('12345678901', { 'x-consent-reference': 'shop/1' })
    expect([await find('shop/1'), await find(hex), await find('shop/2')]).toEqual([3, 1, 1])
  })
})

describe.each(engines)('X-Purpose on %s', (engine) => {
  it('is refused if it is not in the list, has no word, or holds a number; without it nothing is', async () => {
    const { verify } = await openServer(engine, { TABBAT_PURPOSES: 'loan, Account-Opening' })
    expect((await verify('12345678901', { 'x-purpose': 'ACCOUNT-opening' })).statusCode).toBe(200)
    expect((await verify('12345678901', {})).statusCode).toBe(200)
    for (const purpose of ['marketing', 'two words', '', 'a'.repeat(41), '08031234567']) {
      const answer = await verify('12345678901', { 'x-purpose': purpose })
      expect([answer.statusCode, answer.json().code]).toEqual([422, 'validation_failed'])
      expect(Object.keys(answer.json().errors)).toEqual(['X-Purpose'])
      expect(answer.body).not.toContain('08031234567')
    }
    const other = await verify('12345678901', { 'x-purpose': 'marketing' })
    expect(other.json().errors['X-Purpose']).toEqual(['X-Purpose must be one of loan, account-opening'])
  })

  it('may be any word without a list, and is in every row of the verification', async () => {
    const { verify, context } = await openServer(engine)
    const answer = await verify('12345678901', { 'x-purpose': 'Tenancy', 'idempotency-key': 'one' })
    await verify('12345678901', { 'x-purpose': 'Tenancy', 'idempotency-key': 'one' })
    const rows = await context.store.audit.byReference(answer.json().data.request_reference)
    expect(rows.map(({ phase, detail }) => `${phase} ${detail}`)).toEqual([
      'outcome purpose: tenancy',
      'replay purpose: tenancy',
    ])
  })
})
