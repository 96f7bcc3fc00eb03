import { type Static, Type } from '../contract/schema.ts'
import { toIsoTime } from '../contract/time.ts'
import { toShown } from '../health/finding.ts'
import type { HealthReport } from '../health/health-monitor.ts'
import { Time } from './fields.ts'
import { type AdminRoute, defineRoute } from './route.ts'

const Check = Type.Object({
  check: Type.String(),
  status: Type.Enum(['ok', 'warning', 'failed', 'skipped'] as const),
  /** What is the case and, unless it is fine, what to do. */
  text: Type.String(),
})

export const Health = Type.Object({
  /** The worst of the checks. */
  status: Type.Enum(['ok', 'warning', 'failed'] as const),
  checked_at: Time,
  /** Checks that read the data are made once a minute, and not while the store is unavailable. Null: not made yet. */
  data_checked_at: Type.Nullable(Time),
  checks: Type.Array(Check),
})
export type Health = Static<typeof Health>

export const HEALTH_ROUTES: readonly AdminRoute[] = [
  defineRoute({
    name: 'read_health',
    tag: 'Overview',
    method: 'GET',
    path: '/admin/health',
    summary:
      'The checks of tabbat doctor, as this server sees them. It answers also while the store is unavailable.',
    role: 'viewer',
    output: Health,
    worksWithoutStore: true,
    run: async ({ health }) => toHealth(await health.read()),
  }),
]

function toHealth({ at, dataAt, findings }: HealthReport): Health {
  const has = (wanted: Health['status']) => findings.some(({ status }) => status === wanted)
  return {
    status: has('failed') ? 'failed' : has('warning') ? 'warning' : 'ok',
    checked_at: toIsoTime(at),
    data_checked_at: dataAt === undefined ? null : toIsoTime(dataAt),
    checks: findings.map(toShown),
  }
}
