import { SCOPES } from '../contract/scope.ts'
import { isLoopback } from '../settings/setting.ts'
import { type Caller, toCaller } from './caller.ts'
import { withDefaults } from './options.ts'
import type { KeySettings } from './settings.ts'

/** The public test key of every installation. It is printed in the README, is in no database, and reaches only the sandbox. */
export const SANDBOX_KEY = 'tbt_test_sandbox0EveryNumberWorksInTheTestSandbox1yrrmt'

export const sandboxCaller: Caller = toCaller({
  ...withDefaults({}),
  id: 'sandbox0',
  lineage: 'sandbox0',
  mode: 'test',
  scopes: SCOPES,
})

export type SandboxSettings = Pick<KeySettings, 'sandbox'> & { readonly host: string }

/** On by default only where no other machine can reach the server. */
export const hasPublicSandboxKey = ({ sandbox, host }: SandboxSettings) =>
  sandbox === 'on' || (sandbox === undefined && isLoopback(host))

/** A call that works, to be pasted into a terminal. `auth` is another key, or a variable of the shell. */
export const toSandboxCall = (url: string, auth = `'Authorization: Bearer ${SANDBOX_KEY}'`) =>
  `curl -s ${url}/api/v2/kyc/verify-nin -H ${auth} -H 'Content-Type: application/json' -d '{"nin":"12345678901","phone":"08031234567"}'`
