import type { AuditLog } from '../audit/audit-log.ts'
import type { SignInMethod } from '../contract/sign-in-method.ts'
import type { AccountRow, SessionDetails } from './account-rows.ts'
import { withAudit } from './accounts.ts'
import type { Devices } from './devices.ts'
import type { FactorUse } from './factor-rows.ts'
import type { Sessions } from './sessions.ts'

/** The cookies of a browser after a sign-in. */
export type SessionTokens = { readonly session: string; readonly device: string }

const METHODS: Readonly<Record<SignInMethod, string | undefined>> = {
  password: undefined,
  code: 'with a code',
  recovery_code: 'with a recovery code',
  passkey: 'with a passkey',
  sso: 'with single sign-on',
}

type Deps = { readonly audit: AuditLog; readonly sessions: Sessions; readonly devices: Devices }

export type OpenSession = (
  account: Pick<AccountRow, 'name' | 'password'>,
  details: SessionDetails & { readonly factor?: FactorUse },
  device?: string,
) => Promise<SessionTokens>

/** Opens a session for an account that has proved who it is. The browser keeps its device cookie, or gets one. */
export const createOpenSession =
  ({ audit, sessions, devices }: Deps): OpenSession =>
  async (account, { factor, ...details }, device = devices.create(account.name)) => {
    const detail = METHODS[details.method]
    const entry = { phase: 'signed_in', ...(detail !== undefined && { detail }) }
    const by = { audit, by: account.name }
    const session = await withAudit(by, entry, () => sessions.open(account, details, factor))
    return { session, device }
  }
