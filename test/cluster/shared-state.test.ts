import { randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { inviteAccount } from '../../src/accounts/accounts.ts'
import { steadyNow } from '../../src/contract/time.ts'
import { openMediaToken } from '../../src/registry/media-link.ts'
import { sealEntry, sealMedia } from '../../src/registry/sealed-entry.ts'
import { dojah } from '../../src/simulator/dojah.ts'
import { toPhoneCoreOf } from '../../src/simulator/people.ts'
import { openStandIn, type StandIn } from '../../src/simulator/stand-in.ts'
import { toNinRecord } from '../../src/sources/sandbox/nin-record.ts'
import { changeOrder } from '../../src/sources/source-order.ts'
import { openTestConsole, type TestConsole, toCookie } from '../admin/test-console.ts'
import { bearer, PHONE } from '../app.ts'
import { createTestDatabase, hasPostgres } from '../postgres.ts'
import { tabbat } from '../process/tabbat.ts'

const PNG = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex')
const KNOWN = '63000000001'
const CALLS = 6

/** Two servers with data folders of their own, and sockets for the API and the console. */
describe.skipIf(!hasPostgres())('two nodes on one PostgreSQL', () => {
  let vendor: StandIn
  let shared: Record<string, string>
  let nodes: [TestConsole, TestConsole]
  let urls: [string, string]
  beforeAll(async () => {
    vendor = await openStandIn(dojah)
    shared = {
      ...vendor.settings,
      TABBAT_NIN_SOURCES: 'registry,dojah',
      TABBAT_NOT_FOUND: 'next',
      TABBAT_DOJAH_PRICE: '50',
      TABBAT_DOJAH_DAILY_CAP: String(50 * CALLS),
      TABBAT_DATABASE_URL: await createTestDatabase(),
      TABBAT_ROOT_KEY: randomBytes(32).toString('hex'),
    }
    nodes = [await openTestConsole(shared), await openTestConsole(shared)]
    const listen = ({ app }: TestConsole) => app.listen({ host: '127.0.0.1', port: 0 })
    urls = [await listen(nodes[0]), await listen(nodes[1])]
  })
  afterAll(async () => {
    for (const node of nodes) await node.close()
    await vendor.close()
  })

  const verify = async (node: number, key: string, nin: string, phone: string) => {
    const response = await fetch(`${urls[node % 2]}/api/v2/kyc/verify-nin`, {
      method: 'POST',
      headers: { ...bearer(key), 'content-type': 'application/json' },
      body: JSON.stringify({ nin, phone }),
    })
    const body = (await response.json()) as { code?: string; data?: { personal_info: { image_url: string } } }
    return { status: response.status, ...body }
  }
  const countBy = (answers: readonly { status: number; code?: string }[]) => {
    const counts: Record<string, number> = {}
    for (const { status, code = '' } of answers)
      counts[`${status} ${code}`.trim()] = (counts[`${status} ${code}`.trim()] ?? 0) + 1
    return counts
  }

  it('a session of the console holds at both, and ends at both', async () => {
    const [one, other] = nodes
    const { store, audit, keyring } = one.context
    const { token } = await inviteAccount({ store, audit, keyring: keyring(), by: 'root (cli)' }, 'operator')
    const body = { token, name: 'ada', password: 'pâté of long-eared owls' }
    const cookie = toCookie(await one.request('/admin/invitations/accept', { body }))
    const statusOf = async (node: TestConsole) => (await node.request('/admin/sources', { cookie })).status
    expect([await statusOf(one), await statusOf(other)]).toEqual([200, 200])
    expect((await one.request('/admin/session/sign-out', { cookie, body: {} })).status).toBe(200)
    expect([await statusOf(one), await statusOf(other)]).toEqual([401, 401])
  })

  it('a link to a picture made at one is served by the other, until it expires', async () => {
    const [one, other] = nodes
    const id = Buffer.alloc(16, 9)
    const keyring = one.context.keyring()
    const entry = { record: toNinRecord(KNOWN, PHONE.slice(1)), mediaId: id.toString('hex') }
    const record = sealEntry(keyring, 'nin', KNOWN, entry)
    const media = [sealMedia(keyring, id, record.subject, PNG)]
    await one.context.store.registry.save({ records: [record], media, at: Date.now() })
    const key = await one.createKey({ mode: 'live' })
    const { data } = await verify(0, key, KNOWN, PHONE)
    const { pathname } = new URL(data?.personal_info.image_url ?? '')
    const answer = await fetch(`${urls[1]}${pathname}`)
    expect(Buffer.from(await answer.arrayBuffer()).equals(PNG)).toBe(true)
    const token = pathname.split('/').at(-1) ?? ''
    const openAfter = (ms: number) => openMediaToken(other.context.pictureKey(), token, steadyNow() + ms)
    expect([openAfter(0)?.mediaId, openAfter(15 * 60_000)]).toEqual([id, undefined])
  })

  it('a changed catalogue is served by both', async () => {
    const file = join(mkdtempSync(join(tmpdir(), 'tabbat-lists-')), 'lists.json')
    const settings = { ...shared, TABBAT_DATA_DIR: nodes[0].context.config.dataDir }
    expect((await tabbat(settings, 'catalogue', 'export', file)).code).toBe(0)
    const readPrices = () =>
      Promise.all(
        urls.map(async (url) => {
          const response = await fetch(`${url}/api/v2/internet/data/smile/lookup`, { headers: bearer() })
          const { data } = (await response.json()) as { data: { data: { price: string }[] } }
          return data.data[0]?.price
        }),
      )
    const [before] = await readPrices()
    const lists = JSON.parse(readFileSync(file, 'utf8'))
    const [bundle] = lists.internet.find(({ segment }: { segment: string }) => segment === 'smile').bundles
    // A small change needs no review.
    const after = String(Number(before) + 1)
    bundle.price = after
    if (bundle.amount !== undefined) bundle.amount = after
    writeFileSync(file, JSON.stringify(lists))
    expect(await tabbat(settings, 'catalogue', 'import', file)).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(/^Database: /),
    })
    await expect.poll(readPrices).toEqual([after, after])
  })

  it('the order of the sources is changed at both, and put back', async () => {
    const { store, audit } = nodes[0].context
    const change = (names?: string[]) =>
      changeOrder({ table: store.sourceOrders, audit }, 'nin', ['registry', 'dojah'], names)
    const chains = () => nodes.map(({ context }) => context.sources.live.nin.map(({ source }) => source.name))
    await change(['dojah', 'registry'])
    await expect.poll(chains).toEqual([
      ['dojah', 'registry'],
      ['dojah', 'registry'],
    ])
    await change()
    await expect.poll(chains).toEqual([
      ['registry', 'dojah'],
      ['registry', 'dojah'],
    ])
  })

  it('the people of a key in a day are counted exactly', async () => {
    const [{ context, createKey }] = nodes
    const numbers = Array.from({ length: 40 }, (_each, index) => String(71_000_000_000 + index))
    const records = numbers.map((nin) =>
      sealEntry(context.keyring(), 'nin', nin, { record: toNinRecord(nin, PHONE.slice(1)), mediaId: null }),
    )
    await context.store.registry.save({ records, media: [], at: Date.now() })
    const key = await createKey({ mode: 'live', subjectsPerDay: 10 })
    const answers = await Promise.all(numbers.map((nin, index) => verify(index, key, nin, PHONE)))
    expect(countBy(answers)).toEqual({ 200: 10, '429 quota_exceeded': 30 })
  })

  it('the daily cap of a vendor is kept exactly', async () => {
    const key = await nodes[0].createKey({ mode: 'live' })
    const answers = await Promise.all(
      Array.from({ length: 4 * CALLS }, (_each, index) => {
        const nin = String(82_000_000_000 + index)
        return verify(index, key, nin, `0${toPhoneCoreOf(nin)}`)
      }),
    )
    const { 200: answered = 0, ...refused } = countBy(answers)
    expect(answered).toBe(vendor.count())
    expect(answered).toBeLessThanOrEqual(CALLS)
    expect(refused).toEqual({ '503 source_unavailable': 4 * CALLS - answered })
    // What one node has leased and does not use, the other one gets within seconds.
    let next = 82_500_000_000
    const spendMore = async () => {
      const nin = String(next++)
      await verify(0, key, nin, `0${toPhoneCoreOf(nin)}`)
      return vendor.count()
    }
    await expect.poll(spendMore, { interval: 200 }).toBe(CALLS)
    expect([await spendMore(), await spendMore()]).toEqual([CALLS, CALLS])
  })

  it('both consoles show the same health of a vendor, of the last five minutes', async () => {
    const cookies = [await nodes[0].openSession('viewer', 'one'), await nodes[1].openSession('viewer', 'two')]
    const key = await nodes[0].createKey({ mode: 'live' })
    await verify(0, key, '82900000000', '08031234567')
    type State = {
      calls: number | null
      recent_calls: number | null
      error_rate: number | null
      node: string
    }
    const read = () =>
      Promise.all(
        nodes.map(async (node, index) => {
          const answer = await node.request('/admin/sources', { cookie: cookies[index] ?? '' })
          return (answer.json().sources as State[]).map(({ node: name, recent_calls, error_rate }) => [
            name,
            recent_calls,
            error_rate,
          ])
        }),
      )
    await expect
      .poll(async () => {
        const [one = [], other = []] = await read()
        const isEqual = JSON.stringify(one) === JSON.stringify(other)
        return [isEqual, one.length, one.some(([, calls]) => Number(calls) > 0)]
      })
      .toEqual([true, 2, true])
  })
})
