import { afterEach, describe, expect, it } from 'vitest'
import { dojah } from '../../src/simulator/dojah.ts'
import { toPhoneCoreOf } from '../../src/simulator/people.ts'
import { openStandIn } from '../../src/simulator/stand-in.ts'
import { youverify } from '../../src/simulator/youverify.ts'
import { unlockNumber } from '../../src/verification/guess-limit.ts'
import { bearer, openTestApp } from '../app.ts'
import { createTestDatabase, hasPostgres } from '../postgres.ts'

const NIN = '73519284650'
const RIGHT = `0${toPhoneCoreOf(NIN)}`
const WRONG = Array.from({ length: 7 }, (_, index) => `0802111222${index}`)

const open: { close: () => Promise<unknown> }[] = []
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close()
})

async function openServer(engine: string, more: Record<string, string>) {
  const [first, second] = [await openStandIn(dojah), await openStandIn(youverify)]
  const server = await openTestApp({
    ...(engine === 'PostgreSQL' && { TABBAT_DATABASE_URL: await createTestDatabase() }),
    ...first.settings,
    ...second.settings,
    TABBAT_NIN_SOURCES: 'dojah,youverify',
    ...more,
  })
  open.push(first, second, server)
  const key = await server.createKey({ mode: 'live' })
  const verify = async (phone: string, nin = NIN) => {
    const answer = await server.app.inject({
      method: 'POST',
      url: '/api/v2/kyc/verify-nin',
      headers: bearer(key),
      payload: { nin, phone },
    })
    return answer.statusCode === 200 ? 'verified' : (answer.json().code as string)
  }
  return { first, second, server, verify }
}

const engines = hasPostgres() ? ['SQLite', 'PostgreSQL'] : ['SQLite']

describe.each(engines)('a guess that a failing search leaves unanswered, on %s', (engine) => {
  const NEXT = { TABBAT_NOT_FOUND: 'next' }

  it.each([
    ['has another phone at a source', NIN, NEXT],
    ['is about a number that a source does not know', '99519284650', NEXT],
    [
      'may have another phone in an earlier result',
      NIN,
      { TABBAT_REUSE: '24h', TABBAT_NIN_SOURCES: 'youverify' },
    ],
  ])('counts when it %s', async (_why, nin, more) => {
    const { second, verify } = await openServer(engine, more)
    second.fail('failing')
    const codes: string[] = []
    for (const phone of WRONG) codes.push(await verify(phone, nin))
    expect(codes).toEqual([...Array(5).fill('source_unavailable'), ...Array(2).fill('too_many_attempts')])
    second.fail(undefined)
    expect(await verify(RIGHT, nin)).toBe('too_many_attempts')
  })

  it('counts when an earlier result has another phone, as when there is none', async () => {
    const { first, second, verify } = await openServer(engine, { TABBAT_REUSE: '24h' })
    expect(await verify(RIGHT)).toBe('verified')
    for (const vendor of [first, second]) vendor.fail('failing')
    const codes: string[] = []
    for (const phone of WRONG) codes.push(await verify(phone))
    expect(codes).toEqual([...Array(5).fill('source_unavailable'), ...Array(2).fill('too_many_attempts')])
    expect(await verify(RIGHT)).toBe('too_many_attempts')
  })

  it('counts when a phone of the record differs beside one that cannot be read', async () => {
    const { first, second, verify } = await openServer(engine, {})
    first.spellPhones((phone) => `${phone}, 080****4567`)
    second.fail('failing')
    const codes: string[] = []
    for (const phone of WRONG) codes.push(await verify(phone))
    expect(codes.slice(4)).toEqual(['source_unavailable', 'too_many_attempts', 'too_many_attempts'])
  })

  it('counts once, however often it is made, and is forgotten by an unlock', async () => {
    const { second, server, verify } = await openServer(engine, NEXT)
    second.fail('failing')
    const [phone = '', ...others] = WRONG
    for (let times = 0; times < 8; times++) expect(await verify(phone)).toBe('source_unavailable')
    const count = async () => {
      const rows = await server.context.store.database.prepare('SELECT id FROM attempts').all()
      return rows.map(({ id }) => String(id).replace(/[0-9a-f]{64}/, 'HASH'))
    }
    await expect.poll(count).toEqual(['kept:HASH'])
    for (const other of others.slice(0, 4)) expect(await verify(other)).toBe('source_unavailable')
    expect(await verify(RIGHT)).toBe('too_many_attempts')
    await expect.poll(count).toEqual(Array.from({ length: 5 }, () => 'kept:HASH'))
    const { keyring, store, audit } = server.context
    const locked = { kind: 'nin', number: NIN } as const
    expect(await unlockNumber({ keyring: keyring(), store, audit }, locked, 'asked by the shop')).toBe(5)
    expect(await verify(RIGHT)).toBe('verified')
  })

  it('does not count when no source could say anything about it', async () => {
    const { first, second, verify } = await openServer(engine, NEXT)
    for (const vendor of [first, second]) vendor.fail('failing')
    for (const phone of WRONG) expect(await verify(phone)).toBe('source_unavailable')
  })
})
