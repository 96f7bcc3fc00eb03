import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'

/**
 * A real OpenID Connect provider in a process of its own. It accepts every login: `ada+operators+staff` is the person ada in
 * two groups. Its client is configured by a message, because the redirect URI is known only when the console runs.
 */
type Provider = { readonly callback: () => RequestListener }
type Setup = { readonly redirectUri: string; readonly idTokenClaims: boolean; readonly clientSecret: string }

// It has no types.
const { Provider } = (await import('oidc-provider' as string)) as {
  Provider: new (issuer: string, configuration: object) => Provider
}

let handle: RequestListener = (_request, response) => void response.writeHead(503).end()
const server = createServer((request, response) => handle(request, response))
server.listen(0, '127.0.0.1')
await once(server, 'listening')
const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

const findAccount = (_context: unknown, login: string) => {
  const [name = '', ...groups] = login.split('+')
  return { accountId: login, claims: () => ({ sub: login, preferred_username: name, groups }) }
}

process.on('message', ({ redirectUri, idTokenClaims, clientSecret }: Setup) => {
  const provider = new Provider(issuer, {
    clients: [{ client_id: 'tabbat', client_secret: clientSecret, redirect_uris: [redirectUri] }],
    claims: { openid: ['sub'], profile: ['preferred_username', 'groups'] },
    conformIdTokenClaims: !idTokenClaims,
    cookies: { keys: ['a key for tests'] },
    pkce: { required: () => true },
    findAccount,
  })
  handle = provider.callback()
  process.send?.('ready')
})
process.on('disconnect', () => process.exit())
process.send?.(issuer)
