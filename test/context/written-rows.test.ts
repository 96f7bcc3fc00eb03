import { createHash, createHmac, generateKeyPairSync, randomBytes, sign } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createToken, findSsoAccount, resetAccount } from '../../src/accounts/accounts.ts'
import { createSecondFactorCheck } from '../../src/accounts/second-factors.ts'
import { createThrottle } from '../../src/accounts/throttle.ts'
import { toCode, toStep } from '../../src/accounts/totp.ts'
import { createBlankRecord } from '../../src/contract/record.ts'
import { BrokenSeal } from '../../src/crypto/seal.ts'
import { createSecretText, hasChecksum } from '../../src/keys/api-key.ts'
import { createRegistry } from '../../src/registry/registry.ts'
import { sealEntry, sealMedia, toSubject } from '../../src/registry/sealed-entry.ts'
import type { KeyUse } from '../../src/verification/idempotency.ts'
import { readVerification } from '../../src/verification/queue/read-verification.ts'
import { fromBase32 } from '../admin/base32.ts'
import { bindSessions, openTestConsole, type TestConsole } from '../admin/test-console.ts'
import { bearer } from '../app.ts'
import { createTestDatabase, hasPostgres } from '../postgres.ts'

const ENGINES = hasPostgres() ? ['sqlite', 'postgres'] : ['sqlite']
const PEOPLE = [
  { nin: '73914650281', phone: '08067319245', first_name: 'Damilola' },
  { nin: '60482917353', phone: '08031234567', first_name: 'Ebuka' },
] as const
type Person = (typeof PEOPLE)[number]

/** What an attacker can compute without the root key. */
const toPlainHash = (text: string) => createHash('sha256').update(text).digest()

/** The key with its last six characters, which need no secret. */
function withChecksum(body: string): string {
  const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
  const places = Array.from({ length: 6 }, (_each, index) => 62 ** (5 - index))
  return body + places.map((place) => digits[Math.floor(crc32(body) / place) % 62]).join('')
}

/** An authenticator whose private key the attacker knows. */
function createDevice() {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' })
  // In CBOR: { 1: 2, 3: -7, -1: 1, -2: x, -3: y }, an elliptic curve key for ES256.
  const head = [Buffer.from('a5010203262001215820', 'hex'), Buffer.from(x, 'base64url')]
  const id = randomBytes(16).toString('base64url')
  return {
    id,
    publicKey: Buffer.concat([...head, Buffer.from('225820', 'hex'), Buffer.from(y, 'base64url')]),
    answer: (challenge: string, origin: string, userHandle?: Buffer) => {
      const client = Buffer.from(JSON.stringify({ type: 'webauthn.get', challenge, origin }))
      // The hash of the host name, "user present and verified", and a counter.
      const data = Buffer.concat([toPlainHash('localhost'), Buffer.from([5, 0, 0, 0, 0])])
      const signature = sign(
        'sha256',
        Buffer.concat([data, createHash('sha256').update(client).digest()]),
        privateKey,
      )
      return {
        ...{ id, rawId: id, type: 'public-key', clientExtensionResults: {} },
        response: {
          clientDataJSON: client.toString('base64url'),
          authenticatorData: data.toString('base64url'),
          signature: signature.toString('base64url'),
          ...(userHandle && { userHandle: userHandle.toString('base64url') }),
        },
      }
    },
  }
}

describe.each(ENGINES)('who can write to the database on %s and has no root key', (engine) => {
  let server: TestConsole
  let key: string
  beforeAll(async () => {
    const settings = engine === 'postgres' ? { TABBAT_DATABASE_URL: await createTestDatabase() } : {}
    server = await openTestConsole({ ...settings, TABBAT_NIN_SOURCES: 'registry' })
    key = await server.createKey({ mode: 'live' })
    await server.openSession('owner')
    const keyring = server.context.keyring()
    const blank = createBlankRecord('nin')
    const records = PEOPLE.map(({ nin, phone, first_name }) =>
      sealEntry(keyring, 'nin', nin, {
        mediaId: null,
        record: {
          ...blank,
          nin_number: nin,
          personal_info: { ...blank.personal_info, first_name, phone_number: phone },
        },
      }),
    )
    await server.context.store.registry.save({ records, media: [], at: Date.now() })
  })
  afterAll(() => server.close())

  const write = (sql: string, ...values: (string | number | Uint8Array)[]) =>
    server.context.store.database.prepare(sql).run(...values)

  const verify = (nin: string, phone: string, credential = key, headers = {}) =>
    server.app.inject({
      method: 'POST',
      url: '/api/v2/kyc/verify-nin',
      headers: { ...bearer(credential), ...headers },
      payload: { nin, phone },
    })

  const idOf = (credential: string) => credential.slice('tbt_live_'.length, 'tbt_live_'.length + 8)

  it('cannot make a session of the console', async () => {
    const token = createToken()
    const now = Date.now()
    const sql = 'INSERT INTO sessions (id, account, created_at, seen_at, method) VALUES ($1, $2, $3, $4, $5)'
    await write(sql, toPlainHash(token), 'owner', now, now, 'password')
    const answer = await server.request('/admin/overview', { cookie: `tabbat_console=${token}` })
    expect(answer.status).toBe(401)
  })

  it('cannot use a session of his own for another account, or as confirmed', async () => {
    const cookie = await server.openSession('viewer', 'mallory')
    const statusOf = async (body?: object) =>
      (await server.request(body ? '/admin/invitations' : '/admin/accounts', { cookie, body })).status
    const set = (column: string, value: string | number) =>
      write(`UPDATE sessions SET ${column} = $1 WHERE account = 'mallory'`, value)
    expect(await statusOf()).toBe(403)
    await write("UPDATE accounts SET role = 'owner' WHERE name = 'mallory'")
    expect(await statusOf({ role: 'viewer' })).toBe(200)
    await set('confirmed_at', 1)
    await bindSessions(server.context)
    await set('confirmed_at', Date.now())
    expect([await statusOf(), await statusOf({ role: 'viewer' })]).toEqual([200, 403])
    await set('method', 'sso')
    expect(await statusOf()).toBe(401)
    await set('method', 'password')
    expect(await statusOf()).toBe(200)
    // With what binds a session of another account.
    await server.openSession('owner', 'victor')
    const [mine, theirs] = [await findSession('mallory'), await findSession('victor')]
    const copy = async (...columns: string[]) => {
      for (const name of columns)
        await write(
          `UPDATE sessions SET ${name} = (SELECT s.${name} FROM sessions s WHERE s.id = $1) WHERE id = $2`,
          theirs,
          mine,
        )
    }
    await copy('confirmed_at', 'confirmed_mac')
    expect([await statusOf(), await statusOf({ role: 'viewer' })]).toEqual([200, 403])
    await copy('account')
    expect(await statusOf()).toBe(401)
    await copy('mac')
    expect(await statusOf()).toBe(401)
  })

  const findSession = async (account: string) => {
    const select = server.context.store.database.prepare('SELECT id FROM sessions WHERE account = $1')
    return (await select.get(account))?.id as Uint8Array
  }

  it('cannot do without the password of an account by emptying it', async () => {
    const cookie = await server.openSession('owner', 'emptied')
    await write("UPDATE accounts SET password = '' WHERE name = 'emptied'")
    const body = { kind: 'nin', number: PEOPLE[0].nin, reason: 'a reason that is long enough' }
    const answer = await server.request('/admin/records/reveal', { cookie, body })
    expect([answer.status, answer.json().errors]).toEqual([422, { password: ['password is required'] }])
  })

  it('cannot make a one-time link of his own one for another account', async () => {
    const { store, audit, keyring } = server.context
    await server.openSession('viewer', 'trudy')
    const deps = { store, audit, keyring: keyring(), by: 'root (cli)' }
    const { token } = await resetAccount(deps, 'trudy')
    const inspect = async () =>
      (await server.request('/admin/invitations/inspect', { body: { token } })).status
    expect(await inspect()).toBe(200)
    await write("UPDATE invitations SET account = 'owner' WHERE account = 'trudy'")
    expect(await inspect()).toBe(410)
    // With all that a link of the other account has, but for its secret.
    await server.openSession('owner', 'walter')
    await resetAccount(deps, 'walter')
    for (const name of ['role', 'made_by', 'created_at', 'expires_at', 'mac', 'account'])
      await write(
        `UPDATE invitations SET ${name} = (SELECT i.${name} FROM invitations i WHERE i.account = 'walter') WHERE account = 'owner'`,
      )
    expect(await inspect()).toBe(410)
  })

  it('cannot give his identity of single sign-on to another account', async () => {
    const { store, audit, keyring } = server.context
    const deps = { store, audit, key: keyring()['second-factor'] }
    const rules = { nameClaim: 'name', roleClaim: 'role', roles: { viewer: ['staff'] } }
    const claims = { iss: 'https://login.example.com', sub: 'eve', role: 'staff' }
    const signIn = async (name: string) => (await findSsoAccount(deps, { ...claims, name }, rules)).name
    expect(await signIn('eve')).toBe('eve')
    // Renamed at the provider.
    expect(await signIn('eve.obi')).toBe('eve')
    await write("UPDATE account_identities SET account = 'owner' WHERE account = 'eve'")
    await expect(signIn('eve')).rejects.toThrow('did not confirm')
    await write("UPDATE account_identities SET mac = NULL WHERE account = 'owner'")
    await expect(signIn('eve')).rejects.toThrow('did not confirm')
    // An account that 0.3.0 made is bound at the next sign-in with its name.
    await write("UPDATE account_identities SET account = 'eve' WHERE account = 'owner'")
    await expect(signIn('eve.obi')).rejects.toThrow('did not confirm')
    expect([await signIn('eve'), await signIn('eve.obi')]).toEqual(['eve', 'eve'])
    // With what binds the identity of the other account.
    const grace = { ...claims, sub: 'grace', name: 'grace' }
    expect((await findSsoAccount(deps, grace, rules)).name).toBe('grace')
    const select = store.database.prepare("SELECT mac FROM account_identities WHERE account = 'grace'")
    const mac = (await select.get())?.mac as Uint8Array
    await write("DELETE FROM account_identities WHERE account = 'grace'")
    await write("UPDATE account_identities SET account = 'grace', mac = $1 WHERE account = 'eve'", mac)
    await expect(signIn('eve')).rejects.toThrow('did not confirm')
  })

  it('cannot use the second factor of his own account for another', async () => {
    const { context } = server
    const key = () => context.keyring()['second-factor']
    const throttle = createThrottle(context.store.throttle, key)
    const check = createSecondFactorCheck({ context, key, throttle })
    const post = async (path: string, cookie: string, body = {}) =>
      (await server.request(`/admin/session/factors/${path}`, { cookie, body })).json()
    const setUp = async (account: string) => {
      const cookie = await server.openSession('viewer', account)
      const { secret, token } = await post('totp/begin', cookie)
      const codeAt = (step: number) => toCode(fromBase32(String(secret)), toStep(Date.now()) + step)
      const { recovery_codes } = await post('totp/confirm', cookie, { token, code: codeAt(0) })
      return { codeAt, recoveryCode: (recovery_codes as string[])[0] }
    }
    const [his] = [await setUp('rupert'), await setUp('sybil')]
    expect(await check('rupert', his.codeAt(1))).toMatchObject({ method: 'code' })
    expect(await check('rupert', his.recoveryCode)).toMatchObject({ method: 'recovery_code' })
    await write("UPDATE recovery_codes SET account = 'sybil' WHERE account = 'rupert'")
    await expect(check('sybil', his.recoveryCode)).rejects.toMatchObject({ code: 'wrong_code' })
    await write(
      `UPDATE totp_secrets SET sealed = (SELECT t.sealed FROM totp_secrets t WHERE t.account = 'rupert') WHERE account = 'sybil'`,
    )
    await expect(check('sybil', his.codeAt(1))).rejects.toThrow(BrokenSeal)
  })

  it('cannot make an invitation to the console', async () => {
    const token = createToken()
    const now = Date.now()
    const invitation = { role: 'owner', account: undefined, madeBy: 'owner', createdAt: now } as const
    await server.context.store.accounts.invite({
      ...invitation,
      id: toPlainHash(token),
      expiresAt: now + 60_000,
    })
    const body = { token, name: 'mallory', password: 'a well-kept secret' }
    expect((await server.request('/admin/invitations/accept', { body })).status).toBe(410)
  })

  it('cannot add a passkey to an account', async () => {
    const cookie = await server.openSession('owner')
    const device = createDevice()
    const now = Date.now()
    const sql = `INSERT INTO passkeys (id, account, name, host, public_key, counter, transports, created_at)
      VALUES ($1, 'owner', 'mine', 'localhost', $2, 0, 'internal', $3)`
    await write(sql, device.id, device.publicKey, now)
    const origin = `http://localhost:${new URL(server.url).port}`
    const headers = { host: new URL(origin).host, origin }
    const signIn = async (userHandle?: Buffer) => {
      const options = await server.request('/admin/session/passkey/begin', { headers, body: {} })
      const response = device.answer(String(options.json().challenge), origin, userHandle)
      return (await server.request('/admin/session/passkey/sign-in', { headers, body: { response } })).status
    }
    const confirm = async (userHandle?: Buffer) => {
      const path = '/admin/session/confirm/passkey'
      const options = await server.request(`${path}/begin`, { headers, cookie, body: {} })
      const response = device.answer(String(options.json().challenge), origin, userHandle)
      return (await server.request(path, { headers, cookie, body: { response } })).status
    }
    for (const use of [signIn, confirm]) {
      expect(await use()).not.toBe(200)
      expect(await use(toPlainHash('owner'))).not.toBe(200)
    }
    // With what only the authenticator of the account was given, the same device is accepted.
    const known = createHmac('sha256', server.context.keyring()['second-factor'])
      .update(JSON.stringify(['passkey-user', 'owner']))
      .digest()
    expect(await signIn(known)).toBe(200)
    expect(await confirm(known)).toBe(200)
  })

  it('cannot make an API key, nor give the secret of one key to another', async () => {
    const own = await server.createKey({ mode: 'live', scopes: ['catalogue:read'] })
    const { id, text } = createSecretText('tbt_live_')
    const copied = `INSERT INTO api_keys (id, mode, name, hash, scopes, created_at, lineage)
      SELECT $1, mode, name, hash, scopes, created_at, $2 FROM api_keys WHERE id = $3`
    await write(copied, id, id, idOf(key))
    await write('UPDATE api_keys SET hash = $1 WHERE id = $2', toPlainHash(text), id)
    expect((await verify(PEOPLE[0].nin, PEOPLE[0].phone, text)).statusCode).toBe(401)
    // The hash of a key that he holds, under the id of another one: the id is a part of what is hashed.
    await write(
      'UPDATE api_keys SET hash = (SELECT hash FROM api_keys WHERE id = $1) WHERE id = $2',
      idOf(own),
      id,
    )
    const renamed = withChecksum(`tbt_live_${id}${own.slice('tbt_live_'.length + 8, -6)}`)
    expect([hasChecksum(renamed), hasChecksum(own)]).toEqual([true, true])
    for (const secret of [text, renamed])
      expect((await verify(PEOPLE[0].nin, PEOPLE[0].phone, secret)).statusCode).toBe(401)
  })

  /** A verification that may ask a source outside the process reads a stored answer in another way than one that does not. */
  const readClaimed = async (use: KeyUse) => {
    const begun = await server.context.idempotency.begin(use)
    return 'stored' in begun ? begun.stored : undefined
  }
  const readLocal = async (use: KeyUse) => {
    const { idempotency, lookups } = server.context.local
    const running = idempotency.begin(use)
    try {
      const { answer } = await lookups.find({ record: undefined, answer: running })
      return idempotency.read(running, answer)
    } finally {
      idempotency.end(running)
    }
  }

  it('cannot give the stored answer of one key to another, nor to another request', async () => {
    const [victim, other] = PEOPLE
    const own = await server.createKey({ mode: 'live' })
    const ask = (credential: string, header: string, { nin, phone }: Person) =>
      verify(nin, phone, credential, { 'idempotency-key': header })
    const toUse = (credential: string, header: string, { nin, phone }: Person): KeyUse => ({
      ...{ keyId: idOf(credential), operation: 'verify_nin', reference: 'ver_0', header, subject: '' },
      request: [nin, phone.slice(1), ''],
    })
    const move = (column: string, from: string, to: string) =>
      write(
        `UPDATE idempotency SET ${column} = (SELECT i.${column} FROM idempotency i
           WHERE i.key_id = $1 AND i.name = idempotency.name) WHERE key_id = $2`,
        idOf(from),
        idOf(to),
      )
    const expectStored = async (use: KeyUse) => {
      for (const read of [readClaimed, readLocal]) expect(await read(use)).toMatchObject({ status: 200 })
    }
    const expectRefused = async (use: KeyUse) => {
      for (const read of [readClaimed, readLocal]) await expect(read(use)).rejects.toThrow(BrokenSeal)
    }
    // Of another request, and of the same one: what his own key may see of the person can be less.
    for (const [header, asked] of [['order-1', other] as const, ['order-2', victim] as const]) {
      for (const [credential, person] of [[key, victim] as const, [own, asked] as const])
        expect((await ask(credential, header, person)).statusCode).toBe(200)
      await expectStored(toUse(own, header, asked))
      await move('sealed', key, own)
      await expectRefused(toUse(own, header, asked))
    }
    // The same key, with the fingerprint of another request.
    await expectStored(toUse(key, 'order-1', victim))
    await move('fingerprint', own, key)
    await expectRefused(toUse(key, 'order-1', other))
  })

  it('cannot read the answer of another key through a batch of his own', async () => {
    const [victim, other] = PEOPLE
    const later = { prefer: 'respond-async, wait=20' }
    const { request_reference: wanted } = (await verify(victim.nin, victim.phone, key, later)).json().data
    const own = await server.createKey({ mode: 'live' })
    const url = '/api/v2/kyc/batches'
    const headers = { ...bearer(own), 'content-type': 'application/x-ndjson' }
    const payload = JSON.stringify({ operation: 'verify_nin', nin: other.nin, phone: other.phone })
    const { id } = (await server.app.inject({ method: 'POST', url, headers, payload })).json().data
    const { batches } = server.context
    await expect.poll(async () => (await batches.find(id))?.state, { timeout: 20_000 }).toBe('completed')
    const ids = { keyId: idOf(own), lineage: idOf(own) }
    const caller = { ...ids, mode: 'live', scopes: new Set(['kyc:nin']), hidden: [] } as never
    const read = async () => {
      const results = await batches.readResults(id, 'application/x-ndjson', caller)
      return (await Array.fromAsync(results)).join('')
    }
    expect(await read()).toContain(other.first_name)
    await write('UPDATE batch_rows SET reference = $1 WHERE batch = $2', wanted, id)
    expect(JSON.parse(await read())).toMatchObject({ state: 'cancelled', data: null })
    const readAlone = () => readVerification(server.context, { reference: wanted, caller, requestId: 'one' })
    await expect(readAlone()).rejects.toMatchObject({ code: 'not_found' })
    await write('UPDATE queued_verifications SET lineage = $1 WHERE reference = $2', idOf(own), wanted)
    for (const each of [read, readAlone]) await expect(each()).rejects.toThrow(BrokenSeal)
  })

  it('cannot make the picture of one person count as fetched of another', async () => {
    const { store, registry } = server.context
    const keyring = server.context.keyring()
    const [id, nin] = [randomBytes(16), '73914650282']
    const record = { ...createBlankRecord('nin'), nin_number: nin }
    const entry = sealEntry(keyring, 'nin', nin, { record, mediaId: id.toString('hex') })
    const media = [sealMedia(keyring, id, entry.subject, Buffer.from('picture'))]
    await store.registry.save({ records: [entry], media, at: Date.now() })
    expect(await registry.findPicture(id)).toMatchObject({ nin })
    for (const subject of [toSubject(keyring, 'nin', PEOPLE[0].nin), randomBytes(32)]) {
      await write('UPDATE media SET subject = $1 WHERE id = $2', subject, id)
      expect(await registry.findPicture(id)).toBeUndefined()
    }
  })

  it('cannot give the record of one person to another', async () => {
    const keyring = server.context.keyring()
    const [victim, other] = PEOPLE
    const registry = createRegistry({
      table: server.context.store.registry,
      keyring: () => keyring,
      reloadKeyring: async () => keyring,
    })
    expect((await registry.find('nin', victim.nin))?.record.nin_number).toBe(victim.nin)
    await write(
      'UPDATE registry SET sealed = (SELECT sealed FROM registry WHERE subject = $1) WHERE subject = $2',
      toSubject(keyring, 'nin', other.nin),
      toSubject(keyring, 'nin', victim.nin),
    )
    await expect(registry.find('nin', victim.nin)).rejects.toThrow(BrokenSeal)
    expect((await registry.find('nin', other.nin))?.record.nin_number).toBe(other.nin)
  })
})
