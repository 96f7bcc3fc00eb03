import { createHmac, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createOidcClient, type OidcClient } from '../../src/admin/sso.ts'

const CLIENT = 'tabbat'
const SECRET = 'a-secret-of-the-client-that-is-long-enough'
const REDIRECT = 'http://127.0.0.1/admin/sso/callback'

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
const other = generateKeyPairSync('rsa', { modulusLength: 2048 })
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const ed = generateKeyPairSync('ed25519')

const toPart = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
type Header = { readonly alg: string; readonly kid?: string }
type Sign = (text: string) => Buffer

const withKey =
  (key: KeyObject, hash: string | null = 'sha256'): Sign =>
  (text) =>
    sign(hash, Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' })
const withSecret =
  (secret: string): Sign =>
  (text) =>
    createHmac('sha256', secret).update(text).digest()

/** A provider that answers every code with the ID token that a test wants. */
let server: Server
let issuer: string
let client: OidcClient
let keyReads = 0
let toToken: (claims: object) => string

beforeAll(async () => {
  const jwks = [
    { ...rsa.publicKey.export({ format: 'jwk' }), kid: 'rsa', use: 'sig' },
    { ...ec.publicKey.export({ format: 'jwk' }), kid: 'ec' },
    { ...ed.publicKey.export({ format: 'jwk' }), kid: 'ed' },
  ]
  let nonce = ''
  server = createServer(async (request, response) => {
    const reply = (body: object) =>
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    if (request.url === '/keys') {
      keyReads += 1
      return reply({ keys: jwks })
    }
    if (request.url !== '/token') return reply(toMetadata())
    const [body = ''] = await Array.fromAsync(request, (piece: Buffer) => piece.toString())
    nonce = new URLSearchParams(body).get('code') ?? ''
    const now = Math.floor(Date.now() / 1000)
    const claims = { iss: issuer, aud: CLIENT, sub: 'ada', nonce, iat: now, exp: now + 60, groups: [] }
    return reply({ access_token: 'x', token_type: 'bearer', id_token: toToken(claims) })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  client = openClient()
})
afterAll(async () => {
  await client.close()
  server.close()
})

const openClient = () =>
  createOidcClient({
    ...{ issuer, clientId: CLIENT, clientSecret: SECRET, scopes: 'openid' },
    ...{ allowPrivate: false, roleClaim: 'groups' },
  })

const toMetadata = () => ({
  issuer,
  authorization_endpoint: `${issuer}/authorize`,
  token_endpoint: `${issuer}/token`,
  jwks_uri: `${issuer}/keys`,
  id_token_signing_alg_values_supported: ['RS256', 'ES256', 'EdDSA', 'HS256', 'none'],
})

/** Comes back with a code that names the nonce, so that only the signature can be wrong. */
async function signIn(header: Header, signText: Sign, change = (claims: object) => claims) {
  toToken = (claims) => {
    const signed = `${toPart(header)}.${toPart(claims)}`
    return `${toPart(header)}.${toPart(change(claims))}.${signText(signed).toString('base64url')}`
  }
  const { checks } = await client.begin(REDIRECT, false)
  return client.finish(new URL(`${REDIRECT}?code=${checks.nonce}&state=${checks.state}`), checks, false)
}

describe('the signature of an ID token', () => {
  it.each<[Header, Sign]>([
    [{ alg: 'RS256', kid: 'rsa' }, withKey(rsa.privateKey)],
    [{ alg: 'RS256' }, withKey(rsa.privateKey)],
    [{ alg: 'ES256', kid: 'ec' }, withKey(ec.privateKey)],
    [{ alg: 'EdDSA', kid: 'ed' }, withKey(ed.privateKey, null)],
  ])('by a key of the provider is accepted: %j', async (header, signText) => {
    expect(await signIn(header, signText)).toMatchObject({ sub: 'ada' })
  })

  it.each<[string, Header, Sign]>([
    ['by another key', { alg: 'RS256', kid: 'rsa' }, withKey(other.privateKey)],
    ['by another key without a name', { alg: 'RS256' }, withKey(other.privateKey)],
    ['by a key that the provider does not publish', { alg: 'RS256', kid: 'new' }, withKey(other.privateKey)],
    ['of no algorithm', { alg: 'none' }, () => Buffer.alloc(0)],
    ['of an algorithm in other letters', { alg: 'nOnE' }, () => Buffer.alloc(0)],
    ['by the secret of the client', { alg: 'HS256' }, withSecret(SECRET)],
    [
      'by the public key as a secret',
      { alg: 'HS256', kid: 'rsa' },
      withSecret(rsa.publicKey.export({ format: 'pem', type: 'spki' }).toString()),
    ],
    ['that is empty', { alg: 'RS256', kid: 'rsa' }, () => Buffer.alloc(0)],
    ['by a key of another kind', { alg: 'ES256', kid: 'rsa' }, withKey(ec.privateKey)],
  ])('%s is refused', async (_name, header, signText) => {
    await expect(signIn(header, signText)).rejects.toThrow()
  })

  it('over other claims is refused', async () => {
    const change = (claims: object) => ({ ...claims, groups: ['owners'] })
    await expect(signIn({ alg: 'RS256', kid: 'rsa' }, withKey(rsa.privateKey), change)).rejects.toThrow()
  })

  it('by unknown keys does not make the server read the keys again each time', async () => {
    await signIn({ alg: 'RS256', kid: 'rsa' }, withKey(rsa.privateKey))
    const before = keyReads
    for (let turn = 0; turn < 5; turn++)
      await expect(signIn({ alg: 'RS256', kid: `k${turn}` }, withKey(other.privateKey))).rejects.toThrow()
    expect(keyReads - before).toBeLessThanOrEqual(1)
  })
})
