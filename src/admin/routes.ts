import { ACCOUNT_ROUTES } from './accounts.ts'
import { AUDIT_ROUTES } from './audit.ts'
import { AUDIT_LOG_ROUTES } from './audit-export.ts'
import { BATCH_ROUTES } from './batches.ts'
import { CATALOGUE_ROUTES } from './catalogue.ts'
import { HEALTH_ROUTES } from './health.ts'
import { KEY_REPORT_ROUTES } from './key-report.ts'
import { KEY_USAGE_ROUTES } from './key-usage.ts'
import { KEY_ROUTES } from './keys.ts'
import { NOTICE_ROUTES } from './notices.ts'
import { OVERVIEW_ROUTES } from './overview.ts'
import { PEOPLE_ROUTES } from './people.ts'
import { RECORD_ROUTES } from './records.ts'
import { REQUEST_ROUTES } from './requests.ts'
import type { AdminRoute } from './route.ts'
import { FACTOR_ROUTES } from './second-factors.ts'
import { SESSION_ROUTES } from './sessions.ts'
import { SETTINGS_ROUTES } from './settings.ts'
import { SOURCE_ROUTES } from './sources.ts'
import { TOKEN_ROUTES } from './tokens.ts'
import { TRY_ROUTES } from './try.ts'
import { WEBHOOK_ROUTES } from './webhooks.ts'

/** All routes of the admin API. */
export const ADMIN_ROUTES: readonly AdminRoute[] = [
  ...SESSION_ROUTES,
  ...FACTOR_ROUTES,
  ...ACCOUNT_ROUTES,
  ...TOKEN_ROUTES,
  ...OVERVIEW_ROUTES,
  ...HEALTH_ROUTES,
  ...TRY_ROUTES,
  ...BATCH_ROUTES,
  ...KEY_ROUTES,
  ...KEY_USAGE_ROUTES,
  ...KEY_REPORT_ROUTES,
  ...WEBHOOK_ROUTES,
  ...NOTICE_ROUTES,
  ...AUDIT_ROUTES,
  ...REQUEST_ROUTES,
  ...AUDIT_LOG_ROUTES,
  ...CATALOGUE_ROUTES,
  ...SOURCE_ROUTES,
  ...RECORD_ROUTES,
  ...PEOPLE_ROUTES,
  ...SETTINGS_ROUTES,
]
