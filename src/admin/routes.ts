import type { AdminRoute } from './route.ts'
import { ACCOUNT_ROUTES } from './routes/accounts.ts'
import { ATTEMPT_ROUTES } from './routes/attempts.ts'
import { AUDIT_ROUTES } from './routes/audit.ts'
import { AUDIT_CHECK_ROUTES } from './routes/audit-check.ts'
import { AUDIT_EXPORT_ROUTES } from './routes/audit-export.ts'
import { BATCH_ROUTES } from './routes/batches.ts'
import { CATALOGUE_ROUTES } from './routes/catalogue.ts'
import { CATALOGUE_REVIEW_ROUTES } from './routes/catalogue-reviews.ts'
import { KEY_USAGE_ROUTES } from './routes/key-usage.ts'
import { KEY_ROUTES } from './routes/keys.ts'
import { NODE_ROUTES } from './routes/nodes.ts'
import { OVERVIEW_ROUTES } from './routes/overview.ts'
import { PASSKEY_ROUTES } from './routes/passkeys.ts'
import { PEOPLE_ROUTES } from './routes/people.ts'
import { RECORD_ROUTES } from './routes/records.ts'
import { REQUEST_ROUTES } from './routes/requests.ts'
import { FACTOR_ROUTES } from './routes/second-factors.ts'
import { SESSION_ROUTES } from './routes/session.ts'
import { OPEN_SESSION_ROUTES } from './routes/sessions.ts'
import { SETTINGS_ROUTES } from './routes/settings.ts'
import { SOURCE_ROUTES } from './routes/sources.ts'
import { STORAGE_ROUTES } from './routes/storage.ts'
import { TOKEN_ROUTES } from './routes/tokens.ts'
import { TRY_ROUTES } from './routes/try.ts'
import { WEBHOOK_ROUTES } from './routes/webhooks.ts'

/** All routes of the admin API. */
export const ADMIN_ROUTES: readonly AdminRoute[] = [
  ...SESSION_ROUTES,
  ...OPEN_SESSION_ROUTES,
  ...FACTOR_ROUTES,
  ...PASSKEY_ROUTES,
  ...ACCOUNT_ROUTES,
  ...TOKEN_ROUTES,
  ...OVERVIEW_ROUTES,
  ...TRY_ROUTES,
  ...BATCH_ROUTES,
  ...KEY_ROUTES,
  ...KEY_USAGE_ROUTES,
  ...WEBHOOK_ROUTES,
  ...AUDIT_ROUTES,
  ...REQUEST_ROUTES,
  ...AUDIT_CHECK_ROUTES,
  ...AUDIT_EXPORT_ROUTES,
  ...CATALOGUE_ROUTES,
  ...CATALOGUE_REVIEW_ROUTES,
  ...SOURCE_ROUTES,
  ...RECORD_ROUTES,
  ...PEOPLE_ROUTES,
  ...ATTEMPT_ROUTES,
  ...SETTINGS_ROUTES,
  ...NODE_ROUTES,
  ...STORAGE_ROUTES,
]
