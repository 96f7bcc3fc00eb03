import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { erasePerson } from '../../src/people/erase-person.ts'
import { dojah } from '../../src/simulator/dojah.ts'
import { toNinBehind, toPhoneCoreOf } from '../../src/simulator/people.ts'
import { prembly } from '../../src/simulator/prembly.ts'
import { openStandIn, type StandIn, type VendorScript } from '../../src/simulator/stand-in.ts'
import { youverify } from '../../src/simulator/youverify.ts'
import { bearer, openTestApp } from '../app.ts'
import { openGate } from '../people/gate.ts'
import { createTestDatabase, hasPostgres } from '../postgres.ts'

const VNIN = 'AB012345678910YZ'
const PHONE = `0${toPhoneCoreOf(VNIN)}`
const opened: { close: () => Promise<unknown> }[] = []
afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await each.close()
})

type Body = {
  readonly code?: string
  readonly errors?: Record<string, string[]>
  readonly data: { readonly nin_number: string; readonly verification_status: string }
}

/** A server on a real socket, with simulated vendors in this order. */
async function openNode(scripts: readonly VendorScript[], settings: Record<string, string> = {}) {
  const vendors: StandIn[] = []
  for (const script of scripts) vendors.push(await openStandIn(script))
  opened.push(...vendors)
  const names = scripts.map(({ name }) => name).join(',')
  const server = await openTestApp({
    ...(names && { TABBAT_NIN_SOURCES: names }),
    ...Object.assign({}, ...vendors.map(({ settings: own }) => own)),
    ...settings,
  })
  opened.push(server)
  const url = await server.app.listen({ host: '127.0.0.1', port: 0 })
  const key = await server.createKey({ mode: 'live' })
  const verify = async (as: string | undefined, nin: string, phone = PHONE, header?: string, more = {}) => {
    const answer = await fetch(`${url}/api/v2/kyc/verify-nin`, {
      method: 'POST',
      headers: {
        ...bearer(as),
        'content-type': 'application/json',
        ...(header !== undefined && { 'idempotency-key': header }),
        ...more,
      },
      body: JSON.stringify({ nin, phone }),
    })
    const text = await answer.text()
    return { status: answer.status, headers: answer.headers, text, body: JSON.parse(text) as Body }
  }
  const read = async (place: string) => (await fetch(`${url}${place}`, { headers: bearer(key) })).status
  return { ...server, vendors, verify, read, key }
}

const engines = hasPostgres() ? ['SQLite', 'PostgreSQL'] : ['SQLite']
const newDatabase = async (engine: string): Promise<Record<string, string>> =>
  engine === 'PostgreSQL' ? { TABBAT_DATABASE_URL: await createTestDatabase() } : {}

describe('in the sandbox', () => {
  it.each([VNIN, 'zz999999999999zz', 'Qa000000000000wE'])('%s is a person', async (vnin) => {
    const node = await openNode([])
    const first = await node.verify(undefined, vnin)
    expect(first.status).toBe(200)
    expect(first.body.data.nin_number).toBe(vnin.toUpperCase())
    const again = await node.verify(undefined, ` ${vnin.toLowerCase()} `)
    expect({ ...again.body.data, request_reference: '' }).toEqual({
      ...first.body.data,
      request_reference: '',
    })
  })

  it('does not match the phone that matches no record', async () => {
    const node = await openNode([])
    expect((await node.verify(undefined, VNIN, '08000000000')).body.code).toBe('not_verified')
  })

  it('is found in a consent reference, whatever is between its digits', async () => {
    const node = await openNode([])
    const more = { 'x-consent-reference': 'a0b12cd345e6789f10' }
    const answer = await node.verify(undefined, VNIN, PHONE, undefined, more)
    expect([answer.status, Object.keys(answer.body.errors ?? {})]).toEqual([422, ['X-Consent-Reference']])
  })
})

describe('without a source that accepts it', () => {
  it.each(['registry', 'blusalt', 'relay'])('%s: 422 says what to send', async (name) => {
    const node = await openNode([], {
      TABBAT_NIN_SOURCES: name,
      TABBAT_BLUSALT_CLIENT_ID: 'simulated',
      TABBAT_BLUSALT_APP_NAME: 'simulated',
      TABBAT_BLUSALT_API_KEY: 'simulated',
      TABBAT_RELAY_URL: 'https://relay.example/api/v2',
      TABBAT_RELAY_KEY: 'simulated',
    })
    const answer = await node.verify(node.key, VNIN)
    expect(answer.status).toBe(422)
    expect(answer.body.code).toBe('validation_failed')
    expect(answer.body.errors).toEqual({
      nin: ['nin is a virtual NIN, which no source of this server accepts: send the 11 digits of the NIN'],
    })
    expect(await node.context.store.audit.bySubject(node.context.toSubjectHash('nin', VNIN))).toEqual([])
  })
})

describe.each(engines)('with vendors, on %s', (engine) => {
  const open = async (scripts: readonly VendorScript[], settings: Record<string, string> = {}) =>
    openNode(scripts, { ...(await newDatabase(engine)), ...settings })
  const outcomes = async ({ context }: Awaited<ReturnType<typeof open>>, number = VNIN) =>
    (await context.store.audit.bySubject(context.toSubjectHash('nin', number)))
      .filter(({ phase }) => phase === 'outcome')
      .map(({ outcome, sources }) => ({
        outcome,
        sources: (JSON.parse(sources ?? '[]') as { name: string; result: string }[]).map(
          ({ name, result }) => `${name} ${result}`,
        ),
      }))

  it('is verified by the vendor, and in any case of its letters', async () => {
    const node = await open([dojah])
    for (const vnin of [VNIN, VNIN.toLowerCase()]) {
      const answer = await node.verify(node.key, vnin)
      expect(answer.status).toBe(200)
      expect(answer.body.data.nin_number).toBe(VNIN)
    }
    expect(await outcomes(node)).toEqual(Array(2).fill({ outcome: 'verified', sources: ['dojah found'] }))
  })

  it('gets the NIN where the vendor returns it', async () => {
    const node = await open([prembly])
    expect((await node.verify(node.key, VNIN)).body.data.nin_number).toBe(toNinBehind(VNIN))
  })

  it('passes over sources that do not accept it', async () => {
    const node = await open([dojah], { TABBAT_NIN_SOURCES: 'registry,dojah' })
    expect((await node.verify(node.key, VNIN)).status).toBe(200)
    expect(await outcomes(node)).toEqual([{ outcome: 'verified', sources: ['dojah found'] }])
  })

  it('asks the next vendor when one does not know it: it is issued for one of them', async () => {
    const node = await open([dojah, youverify])
    node.vendors[0]?.refuse(404, 'vNIN not found')
    expect((await node.verify(node.key, VNIN)).status).toBe(200)
    expect(await outcomes(node)).toEqual([
      { outcome: 'verified', sources: ['dojah not_found', 'youverify found'] },
    ])
  })

  it('is no false "not verified" when one vendor failed and the other does not know it', async () => {
    const node = await open([dojah, youverify])
    node.vendors[0]?.fail('failing')
    node.vendors[1]?.answerWith({
      status: 200,
      body: { success: true, statusCode: 200, data: { status: 'not_found', reason: null } },
    })
    expect((await node.verify(node.key, VNIN)).status).toBe(503)
  })

  it('answers an unknown one and another phone alike', async () => {
    const node = await open([dojah])
    const unknown = await node.verify(node.key, 'AB992345678910YZ')
    const otherPhone = await node.verify(node.key, VNIN, '08021112223')
    expect([unknown.status, otherPhone.status]).toEqual([422, 422])
    const blank = (text: string) => text.replace(/(ver|req)_[0-9a-z]+/g, '')
    expect(blank(unknown.text)).toBe(blank(otherPhone.text))
  })

  it('limits guesses of the phone', async () => {
    const node = await open([dojah])
    const statuses: number[] = []
    for (let guess = 0; guess < 6; guess++)
      statuses.push((await node.verify(node.key, VNIN, `0802111222${guess}`)).status)
    expect(statuses).toEqual([422, 422, 422, 422, 422, 429])
  })

  it('refuses a record of another virtual NIN', async () => {
    for (const script of [dojah, prembly, youverify]) {
      const node = await open([script])
      node.vendors[0]?.fail('wrong_person')
      expect((await node.verify(node.key, VNIN)).status, script.name).toBe(502)
    }
  })

  it('is never reused', async () => {
    const node = await open([dojah], { TABBAT_REUSE: '1h' })
    await node.verify(node.key, VNIN)
    await node.verify(node.key, VNIN)
    expect(node.vendors[0]?.count()).toBe(2)
  })

  it('replays under an Idempotency-Key, which an erasure of the NIN behind it ends', async () => {
    const node = await open([prembly])
    const first = await node.verify(node.key, VNIN, PHONE, 'order-1')
    const replay = await node.verify(node.key, VNIN.toLowerCase(), PHONE, 'order-1')
    expect(replay.text).toBe(first.text)
    expect(replay.headers.get('idempotent-replayed')).toBe('true')
    const { context } = node
    const deps = { ...context, keyring: context.keyring() }
    expect((await erasePerson(deps, 'nin', toNinBehind(VNIN))).keptAnswers).toBe(1)
    // Gone, and not paid for again.
    expect((await node.verify(node.key, VNIN, PHONE, 'order-1')).status).toBe(503)
    expect(node.vendors[0]?.count()).toBe(1)
  })

  it('is answered through the queue, and an erasure of the NIN behind it finds the answer', async () => {
    const node = await open([prembly])
    const pending = await node.verify(node.key, VNIN, PHONE, undefined, { prefer: 'respond-async' })
    expect(pending.status).toBe(202)
    const place = pending.headers.get('location') ?? ''
    await expect.poll(() => node.read(place)).toBe(200)
    const { context } = node
    const deps = { ...context, keyring: context.keyring() }
    expect((await erasePerson(deps, 'nin', toNinBehind(VNIN))).queued).toBe(1)
    expect(await node.read(place)).toBe(410)
  })

  it('stores no answer of a request that was running when the NIN behind it was erased', async () => {
    const vendor = await openStandIn(prembly)
    const gate = await openGate(vendor.url)
    opened.push(vendor, gate)
    const node = await open([], { ...prembly.settings(gate.url), TABBAT_NIN_SOURCES: 'prembly' })
    const { context } = node
    const deps = { ...context, keyring: context.keyring() }
    const countAnswers = async () =>
      Number(
        (
          await context.store.database
            .prepare('SELECT COUNT(*) AS kept FROM idempotency WHERE sealed IS NOT NULL')
            .get()
        )?.kept,
      )
    const first = gate.hold()
    const running = node.verify(node.key, VNIN, PHONE, 'order-1')
    await first.arrived
    await erasePerson(deps, 'nin', toNinBehind(VNIN))
    first.letGo()
    expect((await running).status).toBe(200)
    expect(await countAnswers()).toBe(0)
    expect((await node.verify(node.key, VNIN, PHONE, 'order-1')).status).toBe(503)

    const second = gate.hold()
    const pending = await node.verify(node.key, VNIN, PHONE, 'order-2', { prefer: 'respond-async' })
    expect(pending.status).toBe(202)
    await second.arrived
    await erasePerson(deps, 'nin', toNinBehind(VNIN))
    second.letGo()
    await expect.poll(() => node.read(pending.headers.get('location') ?? '')).toBe(410)
    expect(await countAnswers()).toBe(0)
  })

  it('has a hash of its own in the audit log', async () => {
    const node = await open([dojah])
    await node.verify(node.key, VNIN)
    expect(await outcomes(node, toNinBehind(VNIN))).toEqual([])
    expect(await outcomes(node)).toHaveLength(1)
  })
})

it('is in no file of the database', async () => {
  const node = await openNode([prembly], { TABBAT_REUSE: '1h' })
  await node.verify(node.key, VNIN, PHONE, 'order-1')
  await node.verify(node.key, 'AB992345678910YZ', PHONE, 'order-2')
  const folder = node.context.config.dataDir
  for (const name of ['tabbat.db', 'tabbat.db-wal']) {
    const bytes = readFileSync(join(folder, name)).toString('latin1')
    for (const secret of [VNIN, VNIN.slice(2, -2), 'AB992345678910YZ', toNinBehind(VNIN)])
      expect(bytes.includes(secret), name).toBe(false)
  }
})
