import { afterAll, describe, expect, it } from 'vitest'
import { dojah } from '../../src/simulator/dojah.ts'
import { openStandIn } from '../../src/simulator/stand-in.ts'
import { copyFixture, RELEASES, readFixture } from '../fixtures/fixture.ts'
import { hasPostgres } from '../postgres.ts'
import { startServer, tabbat } from './tabbat.ts'

const vendor = await openStandIn(dojah)
afterAll(() => vendor.close())

const ENGINES = hasPostgres() ? (['sqlite', 'postgres'] as const) : (['sqlite'] as const)
const CASES = RELEASES.flatMap((release) => ENGINES.map((engine) => ({ release, engine })))

describe.each(CASES)('a database of $release on $engine', ({ release, engine }) => {
  it('keeps its keys, records, questions and audit log, and goes on', async () => {
    const made = readFixture(release)[engine]
    const place = await copyFixture(release, engine)
    const settings = {
      ...vendor.settings,
      ...place,
      TABBAT_LOG_LEVEL: 'silent',
      TABBAT_NIN_SOURCES: 'dojah',
      TABBAT_PENDING_RETRY: '1s',
      TABBAT_PENDING_RETRY_MAX: '1s',
      TABBAT_PAID_CALLS: '10',
    }
    const server = await startServer(settings)
    const list = async (...args: string[]) =>
      JSON.parse((await tabbat(settings, ...args, '--json')).stdout) as { readonly name: string }[]
    const namesOf = async (...args: string[]) => (await list(...args)).map(({ name }) => name).toSorted()
    const ask = async (key: string, path: string, body?: object) => {
      const answer = await fetch(`${server.url}/api/v2/kyc/${path}`, {
        method: body ? 'POST' : 'GET',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        ...(body && { body: JSON.stringify(body) }),
      })
      return { status: answer.status, text: await answer.text() }
    }
    try {
      expect(await namesOf('keys', 'list')).toEqual(['old', 'shop', 'tests'])
      expect(await namesOf('webhooks', 'list')).toEqual(['shop'])
      expect(await namesOf('tokens', 'list')).toEqual(['reports'])
      expect(await namesOf('admin', 'list')).toEqual(['ada'])
      const known = { bvn: '71000000001', phone: '08030000001', amount: '50' }
      const again = await ask(made.live, 'verify-bvn', known)
      const { data } = JSON.parse(again.text)
      expect(data).toMatchObject({ verification_status: 'VERIFIED', personal_info: { first_name: 'Tunde' } })
      expect((await ask(made.test, 'verify-nin', { nin: '12345678901', phone: '08031234567' })).status).toBe(
        200,
      )
      // By the age of the database, the vendor is asked or the question has expired.
      const pending = async () => (await ask(made.live, `verifications/${made.pending}`)).status
      await expect.poll(pending).toBeOneOf([200, 504])
      const batch = async () => JSON.parse((await ask(made.live, `batches/${made.batch}`)).text)
      await expect.poll(batch).toMatchObject({ data: { state: 'completed' } })
    } finally {
      expect(await server.stop()).toBe(0)
    }
    const timeline = await tabbat(settings, 'audit', 'show', made.answered)
    expect([timeline.code, timeline.stdout]).toEqual([0, expect.stringContaining('verify_bvn')])
    const verdict = await tabbat(settings, 'audit', 'verify', '--json')
    expect([verdict.code, JSON.parse(verdict.stdout)]).toMatchObject([0, { sound: true, chains: 2 }])
  }, 180_000)
})
