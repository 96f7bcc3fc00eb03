import { SCOPES } from '../contract/scope.ts'
import { SUBJECTS_PER_DAY } from './api-key.ts'
import type { Caller } from './caller.ts'
import { toHiddenFields } from './field-policy.ts'

/** The public test key of every installation. It is printed in the README, is in no database, and reaches only the sandbox. */
export const SANDBOX_KEY = 'tbt_test_sandbox0EveryNumberWorksInTheTestSandbox1yrrmt'

export const sandboxCaller: Caller = {
  keyId: 'sandbox0',
  lineage: 'sandbox0',
  mode: 'test',
  scopes: new Set(SCOPES),
  isAddressAllowed: () => true,
  clientCerts: undefined,
  hidden: toHiddenFields([], []),
  requiresConsent: false,
  asyncWhenDown: false,
  subjectsPerDay: SUBJECTS_PER_DAY,
}
