import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { toBlindIndex } from '../../src/crypto/mac.ts'
import { createListVendor, mapItems } from '../../src/simulator/price-list.ts'
import { openStandIn, type StandIn } from '../../src/simulator/stand-in.ts'
import { createVtpass } from '../../src/simulator/vtpass.ts'
import { bearer, openTestApp, PHONE, type TestApp } from '../app.ts'
import { newDataDir } from '../process/tabbat.ts'
import { tabbat } from '../registry/run.ts'

/** What commands print for people, of a database with a little of everything. */
let server: TestApp
let vendor: StandIn
let settings: Record<string, string>
const shop = createListVendor()
beforeAll(async () => {
  server = await openTestApp()
  vendor = await openStandIn(createVtpass(shop))
  settings = { TABBAT_DATA_DIR: server.context.config.dataDir, ...vendor.settings }
})
afterAll(async () => {
  await server.close()
  await vendor.close()
})

/** The words of a command, and its standard input. */
const run = (line: string, input?: string) => tabbat(settings, line.split(' '), input)
const print = async (line: string, input?: string) => {
  const { code, stdout, stderr } = await run(line, input)
  expect([code, code === 0 ? '' : stderr]).toEqual([0, ''])
  return stdout
}
/** The last line of an error, which is what went wrong. */
const refuse = async (line: string, input?: string) => {
  const { code, stderr } = await run(line, input)
  expect(code).not.toBe(0)
  return stderr
}

const NIN = '12345678901'
const verify = (headers: Record<string, string> = {}) =>
  server.app.inject({
    method: 'POST',
    url: '/api/v2/kyc/verify-nin',
    headers: { ...bearer(), ...headers },
    payload: { nin: NIN, phone: PHONE },
  })

describe('a database without contents', () => {
  it('is said to have nothing, and what creates it', async () => {
    const empty = { TABBAT_DATA_DIR: newDataDir() }
    const of = (line: string) => tabbat(empty, line.split(' '))
    await of('keys create --name first --mode test')
    expect((await of('tokens list')).stdout).toBe(
      'There are no tokens yet. Create one with: tabbat tokens create\n',
    )
    expect((await of('admin list')).stdout).toBe(
      'There are no accounts yet. Create the first with: tabbat admin invite\n',
    )
    expect((await of('webhooks list')).stdout).toBe(
      'There are no endpoints yet. Create one with: tabbat webhooks create\n',
    )
    expect((await of('notices list')).stdout).toBe('There was no incident.\n')
    expect((await of('consents')).stdout).toBe('No verification named a consent in this time.\n')
    expect((await of('keys usage')).stdout).toBe('No key was used in this time.\n')
    expect((await of('requests list')).stdout).toContain('The request log has no such request.')
    const off = await tabbat({ ...empty, TABBAT_REQUESTS_KEEP: 'off' }, ['requests', 'list'])
    expect(off.stdout).toBe('The request log is off (TABBAT_REQUESTS_KEEP).\n')
    expect((await of('catalogue rollback')).stderr).toContain(
      'There is no older version: the shipped lists are active.',
    )
    expect((await of('catalogue diff')).stderr).toContain('There is only one version')
  })
})

describe('tabbat tokens', () => {
  it('lists tokens with their limits, and revokes one', async () => {
    await print('tokens create --name grafana --role viewer')
    await print('tokens create --name deploy --role operator --ip 10.0.0.0/8,192.0.2.7 --expires 30d')
    const [titles, deploy, grafana] = (await print('tokens list')).split('\n')
    expect(titles).toMatch(/^id +role +state +expires +last used +addresses +made by +name$/)
    expect(deploy).toMatch(
      /^\w{8} +operator +active +\d{4}-\d\d-\d\d +never +10\.0\.0\.0\/8 192\.0\.2\.7 +\S+ \(cli\) +deploy$/,
    )
    expect(grafana).toMatch(/^\w{8} +viewer +active +\d{4}-\d\d-\d\d +never +any +\S+ \(cli\) +grafana$/)
    const id = deploy?.slice(0, 8) ?? ''
    expect(JSON.parse(await print(`tokens revoke ${id} --json`))).toMatchObject({ id, revoked: true })
    expect(await refuse(`tokens revoke ${id}`)).toContain('revoked')
    expect(await refuse('tokens revoke AAAAAAAA')).toContain('There is no token AAAAAAAA. See:')
    const pasted = await refuse('tokens revoke tbt_admin_AAAAAAAAAAAAAAAAAAAAAAAAAAAA')
    expect(pasted).toContain('There is no token with this id.')
    expect(pasted).not.toContain('tbt_admin')
  })
})

describe('tabbat keys', () => {
  it('changes a key, warns of fields that are hidden by default, and counts its use by months', async () => {
    const { id } = JSON.parse(await print('keys create --name shop --mode test --json'))
    const changed = await run(`keys change ${id} --name till --reveal next_of_kin`)
    expect(changed.stdout).toBe(`Key ${id} is changed. Its secret is the same.\n`)
    expect(changed.stderr).toContain('this key gets fields that are hidden by default: next_of_kin.')
    expect(await print('keys list')).toMatch(new RegExp(`^${id} .*till`, 'm'))
    const rolled = JSON.parse(await print(`keys roll ${id} --expires never --json`))
    expect(rolled.expires_at).toBeNull()
    expect(await refuse('keys usage --from 2026-02 --to 2026-01')).toContain(
      'The first month is after the last',
    )
    await verify(bearer(await server.createKey({ name: 'counted' })))
    await expect.poll(() => print('keys usage')).toContain(' counted')
    expect(await print('keys usage')).toMatch(/^\d{4}-\d\d +\w{8} +test +1 +0 +0 +0 +\S+ +counted$/m)
  })
})

describe('tabbat consents', () => {
  it('lists consents, and the verifications of one that fit', async () => {
    await verify({ 'x-consent-reference': 'shop/1', 'x-purpose': 'loan' })
    await verify({ 'x-consent-reference': 'shop/1' })
    const [titles, row] = (await print('consents')).split('\n')
    expect(titles).toMatch(/^consent +verifications +people +first +last +purposes$/)
    expect(row).toMatch(/^shop\/1 +2 +1 +\S+Z +\S+Z +loan$/)
    const count = async (options: string) =>
      JSON.parse(await print(`consents shop/1 --json ${options}`)).requests.length
    expect(await count('--purpose loan')).toBe(1)
    expect(await count('--key sandbox0 --since 1h')).toBe(2)
    expect(await print('consents --until 2020-01-01')).toBe('No verification named a consent in this time.\n')
    for (const option of ['--key AAAAAAAA', '--purpose other', '--until 2020-01-01'])
      expect(await refuse(`consents shop/1 ${option}`)).toContain('fits the other options')
    expect(await print('consents shop/1')).toMatch(/public sandbox key +verify_nin +verified +loan +ver_/)
  })
})

describe('tabbat audit subject', () => {
  it('lists look-ups, replays, other rows, and a verification that has no outcome', async () => {
    await verify({ 'idempotency-key': 'again' })
    await verify({ 'idempotency-key': 'again' })
    const { keyring, audit } = server.context
    const subject = toBlindIndex(keyring().subject, 'nin', NIN).toString('hex')
    const open = { request_reference: 'ver_open', key_id: 'sandbox0', mode: 'test', operation: 'verify_nin' }
    await audit.record([{ phase: 'intent', subject, ...open } as Parameters<typeof audit.record>[0][number]])
    await print('audit subject nin', NIN)
    const listed = await print('audit subject nin', NIN)
    expect(listed).toMatch(/^time +operation +mode +key +outcome +reference +consent\n/)
    expect(listed).toMatch(/verify_nin +test +sandbox0 +verified \(replayed\) +ver_/)
    expect(listed).toMatch(/verify_nin +test +sandbox0 +started, no outcome recorded +ver_open/)
    expect(listed).toMatch(/audit_searched +ok/)
    // An intent with an outcome is not listed besides.
    expect(listed.match(/started, no outcome/g)).toHaveLength(1)
  })
})

describe('tabbat requests', () => {
  it('refuses what is no status and no limit', async () => {
    expect(await refuse('requests list --status 4x')).toContain('A status is a number such as 422')
    expect(await refuse('requests list --limit 0')).toContain('A limit is a whole number from 1 to 999999')
  })

  it('shows the fields that were wrong, and limits a list by time and number', async () => {
    const wrong = await server.app.inject({
      method: 'POST',
      url: '/api/v2/kyc/verify-nin',
      headers: bearer(),
      payload: { nin: '1' },
    })
    expect(wrong.statusCode).toBe(422)
    const id = String(wrong.headers['x-request-id'])
    await expect.poll(async () => (await run(`requests show ${id}`)).stdout).toContain(id)
    const shown = await print(`requests show ${id}`)
    expect(shown).toContain('key sandbox0 (public sandbox key)')
    expect(shown).toContain('wrong fields: nin, phone')
    expect(await print('requests list --until 2020-01-01')).toContain('has no such request')
    expect((await print('requests list --limit 1')).trim().split('\n')).toHaveLength(2)
  })
})

describe('tabbat webhooks', () => {
  it('lists deliveries, tests an endpoint that does not answer, and resends what failed', async () => {
    const on = { ...settings, TABBAT_WEBHOOKS_PRIVATE: 'on' }
    const ofHooks = (line: string) => tabbat(on, ['webhooks', ...line.split(' ')])
    const create = 'create --name shop --url http://127.0.0.1:9 --event catalogue.changed --json'
    const { id } = JSON.parse((await ofHooks(create)).stdout)
    const tested = await ofHooks(`test ${id}`)
    expect([tested.code, tested.stdout]).toEqual([1, expect.stringMatching(/^No response, after \d+ ms\.\n/)])
    expect((await ofHooks(`deliveries ${id}`)).stdout).toBe('Nothing was sent to this endpoint.\n')
    expect((await ofHooks(`resend ${id} --failed`)).stdout).toContain('Nothing is sent.')
    expect(JSON.parse((await ofHooks(`disable ${id} --json`)).stdout)).toMatchObject({ id, disabled: true })
    // A disabled endpoint gets nothing, so that the rows stay as they are.
    const { database } = server.context.store
    const insert = database.prepare(
      `INSERT INTO webhook_deliveries (endpoint_id, event_id, type, reference, position, body, state, due_at, tries, attempts, finished_at)
       VALUES ($1, $2, 'catalogue.changed', '', $3, '{}', $4, 4102444800000, $5, $5, $6)`,
    )
    const attempt = database.prepare(
      'INSERT INTO webhook_attempts (endpoint_id, event_id, attempt, at, status, duration_ms, problem) VALUES ($1, $2, 1, 1, $3, 17, $4)',
    )
    const toEvent = (number: number) => `evt_${String(number).padStart(33, '0')}`
    const finishedAt = Date.parse('2026-11-01T12:00:00Z')
    await insert.run(id, toEvent(1), 1, 'failed', 1, finishedAt)
    await attempt.run(id, toEvent(1), 500, 'status')
    await insert.run(id, toEvent(2), 2, 'failed', 1, finishedAt)
    await attempt.run(id, toEvent(2), null, 'timeout')
    await insert.run(id, toEvent(3), 3, 'pending', 0, null)
    const [titles, ...rows] = (await ofHooks(`deliveries ${id}`)).stdout.trim().split('\n')
    expect(titles).toMatch(/^event +type +state +attempts +last +took +next or finished$/)
    expect(rows.map((row) => row.replace(/^evt_0+/, '').replaceAll(/ +/g, ' '))).toEqual([
      '3 catalogue.changed pending 0 - - 2100-01-01T00:00:00.000Z',
      '2 catalogue.changed failed 1 timeout 17 ms 2026-11-01T12:00:00.000Z',
      '1 catalogue.changed failed 1 500 17 ms 2026-11-01T12:00:00.000Z',
    ])
    expect((await ofHooks(`enable ${id}`)).stdout).toBe(`Endpoint ${id} is enabled.\n`)
    expect(JSON.parse((await ofHooks(`resend ${id} ${toEvent(1)} --json`)).stdout)).toMatchObject({
      resent: true,
    })
    expect((await ofHooks(`resend ${id} --failed`)).stdout).toBe(
      '1 event will be sent again by a running server.\n',
    )
    expect((await ofHooks(`roll ${id}`)).stdout).toMatch(/^whsec_/)
  })
})

describe('tabbat catalogue', () => {
  it('rolls back to the version before and to the shipped lists', async () => {
    const file = join(server.context.config.dataDir, 'lists.json')
    await print(`catalogue export ${file}`)
    expect(await refuse(`catalogue export ${file}`)).toContain(`${file} exists already. Name another file.`)
    expect(await refuse('catalogue export /nowhere/lists.json')).toContain(
      '/nowhere/lists.json cannot be written (ENOENT).',
    )
    const raised = mapItems(shop.files, (item) => ({ ...item, price: String(Number(item.price) + 50) }))
    expect(await print('catalogue import - --force', JSON.stringify(raised))).toContain('Version 2 is active')
    expect(await print('catalogue history')).not.toContain('last sync')
    expect(JSON.parse(await print('catalogue diff --json'))[0]).toMatchObject({ change: 'price' })
    expect(await print('catalogue diff 1')).toContain('From version 1 to 2:')
    expect(await print('catalogue rollback')).toContain('Version 3 is active')
    expect(await print('catalogue diff 1 3')).toBe('Versions 1 and 3 are equal.\n')
    expect(JSON.parse(await print('catalogue export --of 2'))).not.toEqual(
      JSON.parse(await print('catalogue export --of 1')),
    )
    await print('catalogue rollback 2')
    expect(await print('catalogue rollback shipped')).toContain('Version 5 is active')
    const { versions, syncs } = JSON.parse(await print('catalogue history --json'))
    expect(versions.map(({ origin }: { origin: string }) => origin)).toEqual([
      ...['shipped', 'import', 'rollback of 1', 'rollback of 2', 'shipped'],
    ])
    expect(syncs).toEqual([])
  })

  it('lists and shows reviews, and says what it cannot use', async () => {
    shop.files = mapItems(shop.files, (item) => ({ ...item, price: String(Number(item.price) * 1000) }))
    expect(await refuse('catalogue sync vtpass')).toContain('tabbat catalogue review 1')
    const listed = await print('catalogue review')
    expect(listed).toMatch(/^review +vendor +since\n1 +vtpass +\S+Z\n\n1: /)
    expect(listed).toContain('Show one with: tabbat catalogue review ID')
    const shown = JSON.parse(await print('catalogue review 1 --json'))
    expect(shown).toMatchObject({ id: 1, source: 'vtpass', doubts: expect.any(Array) })
    expect(shown.doubts[0]).toContain('624 from 450 to 450000')
    expect(shown.changes[0]).toMatchObject({ change: 'price', list: 'smile' })
    expect(await refuse('catalogue review --accept 1 --reject 1')).toContain('not both')
    expect(await refuse('catalogue review one')).toContain('Give the number of a review')
    expect(JSON.parse(await print('catalogue review --reject 1 --yes --json'))).toMatchObject({
      outcome: 'rejected',
      review: 1,
    })
    expect(await print('catalogue history')).toMatch(/vendor +last sync +outcome\nvtpass +\S+Z +\w+/)
    const broken = join(server.context.config.dataDir, 'broken.json')
    writeFileSync(broken, '{')
    expect(await refuse(`catalogue import ${broken}`)).toContain(`${broken} is not JSON.`)
    expect(await refuse('catalogue import -', '{')).toContain('Standard input is not JSON.')
  })
})

describe('tabbat admin', () => {
  it('lists accounts, invitations and sessions, and manages them', async () => {
    const { database } = server.context.store
    const insert = database.prepare(
      "INSERT INTO accounts (name, role, password, created_at, last_seen_at) VALUES ($1, $2, 'scrypt', 1, $3)",
    )
    await insert.run('ada', 'owner', null)
    await insert.run('bola', 'viewer', Date.parse('2026-11-01T12:00:00Z'))
    expect(await print('admin list')).toMatch(
      /^ada +owner +no +1970-01-01\S+ +never\nbola +viewer +no +1970-01-01\S+ +2026-11-01T12:00:00\.000Z$/m,
    )
    expect(JSON.parse(await print('admin list --json'))[0]).toMatchObject({ name: 'ada', last_seen_at: null })
    expect(JSON.parse(await print('admin role bola operator --json'))).toMatchObject({ role: 'operator' })
    await print('admin invite --role viewer --url https://console.example.com')
    await print('admin reset bola --url https://console.example.com')
    const invitations = await print('admin invitations')
    expect(invitations).toMatch(/ new account +viewer /)
    expect(invitations).toMatch(/ password of bola +operator /)
    const [, id] = /^(\S+) +new account/m.exec(invitations) ?? []
    expect(JSON.parse(await print(`admin invitations --void ${id} --json`))).toMatchObject({
      id,
      voided: true,
    })
    expect(await print('admin invitations')).not.toContain('new account')
    expect(JSON.parse(await print('admin sessions bola --end --json'))).toMatchObject({ ended: 0 })
    expect(await refuse('admin sessions --end')).toContain('Give the name of the account whose sessions end.')
    expect(await print('admin remove bola --yes')).toBe('The account bola is deleted.\n')
  })
})

describe('tabbat notices', () => {
  it('lists incidents, and cannot test without a channel', async () => {
    const { database } = server.context.store
    const insert = database.prepare(
      `INSERT INTO incidents (id, name, scope, level, text, began_at, told, ended_at, repeats)
       VALUES ($1, $2, $3, 'critical', 'It is full.', 1, 'critical', $4, 0)`,
    )
    await insert.run('inc_1', 'disk', 'node-a', Date.parse('2026-11-01T12:00:00Z'))
    await insert.run('inc_2', 'source dojah', '', null)
    await database
      .prepare(
        `INSERT INTO notices (incident_id, channel, kind, level, created_at, due_at, state)
         VALUES ('inc_1', 'slack', 'began', 'critical', 1, 1, 'sent')`,
      )
      .run()
    const [titles, ...rows] = (await print('notices list')).trim().split('\n')
    expect(titles).toMatch(/^began +ended +level +incident +notices$/)
    expect(rows.map((row) => row.replaceAll(/ +/g, ' '))).toEqual([
      '1970-01-01T00:00:00.001Z lasts critical source dojah no channel',
      '1970-01-01T00:00:00.001Z 2026-11-01T12:00:00.000Z critical disk (node-a) slack began sent',
    ])
    expect(JSON.parse(await print('notices list --limit 1 --json'))).toMatchObject([
      { id: 'inc_2', node: null },
    ])
    expect(await refuse('notices test')).toContain('No channel is configured. Set TABBAT_NOTICES_SMTP')
  })
})
