import { SCOPES } from '../contract/scope.ts'
import { type Caller, toCaller } from './caller.ts'
import { withDefaults } from './options.ts'

/** The public test key of every installation. It is printed in the README, is in no database, and reaches only the sandbox. */
export const SANDBOX_KEY = 'tbt_test_sandbox0EveryNumberWorksInTheTestSandbox1yrrmt'

export const sandboxCaller: Caller = toCaller({
  ...withDefaults({}),
  id: 'sandbox0',
  lineage: 'sandbox0',
  mode: 'test',
  scopes: SCOPES,
})
