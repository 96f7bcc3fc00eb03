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
