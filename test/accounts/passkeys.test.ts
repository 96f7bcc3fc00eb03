import { createHash, createSecretKey, generateKeyPairSync, randomBytes, sign } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createPasskeyActions, type PasskeyActions, toPasskeySite } from '../../src/accounts/passkeys.ts'
import { createSessions } from '../../src/accounts/sessions.ts'
import type { Actor } from '../../src/contract/role.ts'
import { openTestApp, type TestApp } from '../app.ts'

const SITE = toPasskeySite('console.example.com', true)
const KEY = createSecretKey(Buffer.alloc(32, 7))
const PRESENT_AND_VERIFIED = 0x05
const WITH_KEY = 0x40

let server: TestApp
let actions: PasskeyActions
beforeAll(async () => {
  server = await openTestApp()
  const { audit, store } = server.context
  const deps = { context: { audit, store }, key: () => KEY }
  actions = createPasskeyActions(
    deps as unknown as Parameters<typeof createPasskeyActions>[0],
    createSessions(store.accounts, () => KEY),
  )
})
afterAll(() => server.close())

const sha256 = (bytes: string | Buffer) => createHash('sha256').update(bytes).digest()
const toText = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64url')
const toShort = (number: number) => Buffer.from([number >> 8, number & 255])

type Asked = { readonly challenge: string; readonly origin?: string }

/** A device that makes one passkey and uses it, as a browser passes its answers on. */
function createDevice() {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' })
  const id = randomBytes(16)
  let counter = 0
  let userHandle = ''
  const toData = (flags: number) => {
    const count = Buffer.alloc(4)
    count.writeUInt32BE(++counter)
    return Buffer.concat([sha256(SITE.host), Buffer.from([flags]), count])
  }
  const toClient = (type: string, { challenge, origin = SITE.origin }: Asked) =>
    Buffer.from(JSON.stringify({ type, challenge, origin, crossOrigin: false }))
  const common = {
    id: toText(id),
    rawId: toText(id),
    type: 'public-key',
    clientExtensionResults: {},
  } as const
  return {
    id: toText(id),
    make: (options: Asked & { readonly user: { readonly id: string } }, format = 'none') => {
      userHandle = options.user.id
      const cose = Buffer.concat([
        Buffer.from('a5010203262001215820', 'hex'),
        Buffer.from(x, 'base64url'),
        Buffer.from('225820', 'hex'),
        Buffer.from(y, 'base64url'),
      ])
      const key = Buffer.concat([Buffer.alloc(16), toShort(id.length), id, cose])
      const data = Buffer.concat([toData(PRESENT_AND_VERIFIED | WITH_KEY), key])
      const attestation = Buffer.concat([
        Buffer.from([0xa3, 0x63, ...Buffer.from('fmt'), 0x60 + format.length, ...Buffer.from(format)]),
        Buffer.from([0x67, ...Buffer.from('attStmt'), 0xa0]),
        Buffer.from([0x68, ...Buffer.from('authData'), 0x59, ...toShort(data.length)]),
        data,
      ])
      const response = {
        clientDataJSON: toText(toClient('webauthn.create', options)),
        attestationObject: toText(attestation),
        transports: ['internal' as const],
      }
      return { ...common, response }
    },
    use: (asked: Asked) => {
      const client = toClient('webauthn.get', asked)
      const data = toData(PRESENT_AND_VERIFIED)
      const signature = sign('sha256', Buffer.concat([data, sha256(client)]), privateKey)
      const response = {
        clientDataJSON: toText(client),
        authenticatorData: toText(data),
        signature: toText(signature),
        userHandle,
      }
      return { ...common, response }
    },
  }
}

/** An account with a password, a session, and a device with a passkey. */
async function openAccount(name: string) {
  const { database, accounts } = server.context.store
  await database
    .prepare(
      "INSERT INTO accounts (name, role, password, created_at, last_seen_at) VALUES ($1, 'owner', 'scrypt', 1, 1)",
    )
    .run(name)
  const session = randomBytes(32)
  await accounts.open({ id: session, account: name, password: 'scrypt', at: Date.now() })
  const actor: Actor = { name, role: 'owner', session: session.toString('hex') }
  const device = createDevice()
  const add = async (label = 'work laptop', other = device) => {
    const response = other.make(await actions.beginAdd(actor, SITE))
    return actions.finishAdd(actor, SITE, { name: label, response })
  }
  return { actor, device, add }
}

const refused = { name: 'AdminError', code: 'wrong_passkey' }

describe('a passkey', () => {
  it('is added once, with recovery codes, and signs its account in', async () => {
    const { actor, device, add } = await openAccount('ada')
    expect(await add()).toHaveLength(10)
    const second = createDevice()
    const options = await actions.beginAdd(actor, SITE)
    expect(options.excludeCredentials).toMatchObject([{ id: device.id, transports: ['internal'] }])
    const response = second.make(options)
    expect(await actions.finishAdd(actor, SITE, { name: ' my\n\tphone ', response })).toEqual([])
    const { store } = server.context
    expect((await store.passkeys.list('ada')).map(({ name }) => name)).toEqual(['work laptop', 'my phone'])
    expect(await actions.findSigner(SITE, device.use(await actions.beginSignIn(SITE)))).toMatchObject({
      name: 'ada',
    })
    await actions.confirm(actor, SITE, device.use(await actions.beginConfirm(actor, SITE)))
    // The same answer of the device proves nothing again, and the challenge of a passkey cannot be used twice.
    await expect(actions.finishAdd(actor, SITE, { name: 'again', response })).rejects.toMatchObject(refused)
    const answer = device.use(await actions.beginSignIn(SITE))
    await actions.findSigner(SITE, answer)
    await expect(actions.findSigner(SITE, answer)).rejects.toMatchObject(refused)
    await actions.remove(actor, second.id, true)
    await expect(actions.remove(actor, device.id, true)).rejects.toThrow(/second factor/)
    expect(await store.passkeys.list('ada')).toHaveLength(1)
  })

  it('of another account, session, purpose or site does not confirm', async () => {
    const bola = await openAccount('bola')
    await bola.add()
    const chidi = await openAccount('chidi')
    const options = await actions.beginConfirm(chidi.actor, SITE)
    await expect(actions.confirm(chidi.actor, SITE, bola.device.use(options))).rejects.toMatchObject(refused)
    const forSignIn = bola.device.use(await actions.beginSignIn(SITE))
    await expect(actions.confirm(bola.actor, SITE, forSignIn)).rejects.toMatchObject(refused)
    const { challenge } = await actions.beginSignIn(SITE)
    const elsewhere = bola.device.use({ challenge, origin: 'https://console.example.net' })
    await expect(actions.findSigner(SITE, elsewhere)).rejects.toMatchObject(refused)
    const ended = await actions.beginConfirm(bola.actor, SITE)
    await server.context.store.accounts.endAll('bola')
    await expect(actions.confirm(bola.actor, SITE, bola.device.use(ended))).rejects.toMatchObject({
      code: 'signed_out',
    })
  })

  it('of an account that was removed does not sign in', async () => {
    const { device, add } = await openAccount('dayo')
    await add()
    await server.context.store.database.prepare("DELETE FROM accounts WHERE name = 'dayo'").run()
    const answer = device.use(await actions.beginSignIn(SITE))
    await expect(actions.findSigner(SITE, answer)).rejects.toMatchObject(refused)
  })

  it('needs a name without the number of a person, and an attestation that is known', async () => {
    const { actor, add } = await openAccount('efe')
    await expect(add(' \n ')).rejects.toMatchObject({ errors: { name: ['name is required'] } })
    await expect(add('phone of 12345678901')).rejects.toMatchObject({
      errors: { name: [expect.stringMatching(/^name /)] },
    })
    const device = createDevice()
    const response = device.make(await actions.beginAdd(actor, SITE), 'odd')
    await expect(actions.finishAdd(actor, SITE, { name: 'key', response })).rejects.toThrow(
      'This kind of passkey is not supported.',
    )
    expect(await server.context.store.passkeys.list('efe')).toEqual([])
  })
})

describe('the site of a passkey', () => {
  it('is the host with its port, over https or on localhost', () => {
    expect(toPasskeySite('Console.Example.com:8443', true)).toEqual({
      host: 'console.example.com',
      origin: 'https://console.example.com:8443',
    })
    expect(toPasskeySite('localhost:8081', false)).toEqual({
      host: 'localhost',
      origin: 'http://localhost:8081',
    })
    expect(() => toPasskeySite('console.example.com', false)).toThrow('Passkeys need https')
    for (const host of ['[::1]:8081', '127.0.0.1:8081'])
      expect(() => toPasskeySite(host, true)).toThrow('this address is a number')
  })
})
