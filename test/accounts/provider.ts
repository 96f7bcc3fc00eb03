import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

const CLIENT_SECRET = 'a-secret-of-the-client'

/** A real provider of OpenID Connect, in a process of its own. */
export type OidcProvider = {
  readonly issuer: string
  /** The settings of a server that uses it. */
  readonly settings: Record<string, string>
  readonly register: (redirectUri: string, options?: { readonly idTokenClaims?: boolean }) => Promise<void>
  readonly stop: () => Promise<void>
}

export async function startProvider(): Promise<OidcProvider> {
  const child = fork(join(import.meta.dirname, 'provider-process.ts'), [], { stdio: 'ignore' })
  const [issuer] = (await once(child, 'message')) as [string]
  return {
    issuer,
    settings: {
      TABBAT_OIDC_ISSUER: issuer,
      TABBAT_OIDC_CLIENT_ID: 'tabbat',
      TABBAT_OIDC_CLIENT_SECRET: CLIENT_SECRET,
      TABBAT_OIDC_ROLES: 'operator=operators,viewer=staff,viewer=auditors',
    },
    register: async (redirectUri, { idTokenClaims = false } = {}) => {
      child.send({ redirectUri, idTokenClaims, clientSecret: CLIENT_SECRET })
      await once(child, 'message')
    },
    stop: async () => {
      child.disconnect()
      await once(child, 'exit')
    },
  }
}
