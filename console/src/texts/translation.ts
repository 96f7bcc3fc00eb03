import type { accountTexts } from './en/account.ts'
import type { accountsTexts } from './en/accounts.ts'
import type { auditTexts } from './en/audit.ts'
import type { batchesTexts } from './en/batches.ts'
import type { catalogueTexts } from './en/catalogue.ts'
import type { commonTexts } from './en/common.ts'
import type { factorsTexts } from './en/factors.ts'
import type { fieldPolicyTexts } from './en/field-policy.ts'
import type { keyFormTexts } from './en/key-form.ts'
import type { keyUsageTexts } from './en/key-usage.ts'
import type { keysTexts } from './en/keys.ts'
import type { overviewTexts } from './en/overview.ts'
import type { passkeysTexts } from './en/passkeys.ts'
import type { peopleTexts } from './en/people.ts'
import type { recordsTexts } from './en/records.ts'
import type { requestsTexts } from './en/requests.ts'
import type { searchTexts } from './en/search.ts'
import type { sessionsTexts } from './en/sessions.ts'
import type { settingsTexts } from './en/settings.ts'
import type { shellTexts } from './en/shell.ts'
import type { signInTexts } from './en/sign-in.ts'
import type { sourcesTexts } from './en/sources.ts'
import type { storageTexts } from './en/storage.ts'
import type { tokensTexts } from './en/tokens.ts'
import type { tryItTexts } from './en/try-it.ts'
import type { unlockTexts } from './en/unlock.ts'
import type { webhooksTexts } from './en/webhooks.ts'

/** The same members with any text. A text with values in it is a function. */
export type Translated<T> = {
  readonly [Name in keyof T]: T[Name] extends string
    ? string
    : T[Name] extends (...values: infer Values) => string
      ? (...values: Values) => string
      : Translated<T[Name]>
}

/** All texts of the console: what a second language must have. One line for each file in texts/en. */
export type Translation = {
  readonly common: Translated<typeof commonTexts>
  readonly audit: Translated<typeof auditTexts>
  readonly overview: Translated<typeof overviewTexts>
  readonly people: Translated<typeof peopleTexts>
  readonly requests: Translated<typeof requestsTexts>
  readonly search: Translated<typeof searchTexts>
  readonly shell: Translated<typeof shellTexts>
  readonly sources: Translated<typeof sourcesTexts>
  readonly settings: Translated<typeof settingsTexts>
  readonly storage: Translated<typeof storageTexts>
  readonly tokens: Translated<typeof tokensTexts>
  readonly tryIt: Translated<typeof tryItTexts>
  readonly webhooks: Translated<typeof webhooksTexts>
  readonly catalogue: Translated<typeof catalogueTexts>
  readonly batches: Translated<typeof batchesTexts>
  readonly factors: Translated<typeof factorsTexts>
  readonly passkeys: Translated<typeof passkeysTexts>
  readonly sessions: Translated<typeof sessionsTexts>
  readonly signIn: Translated<typeof signInTexts>
  readonly accounts: Translated<typeof accountsTexts>
  readonly account: Translated<typeof accountTexts>
  readonly keys: Translated<typeof keysTexts>
  readonly records: Translated<typeof recordsTexts>
  readonly fieldPolicy: Translated<typeof fieldPolicyTexts>
  readonly keyForm: Translated<typeof keyFormTexts>
  readonly keyUsage: Translated<typeof keyUsageTexts>
  readonly unlock: Translated<typeof unlockTexts>
}
