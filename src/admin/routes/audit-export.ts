import { auditBy } from '../../audit/audit-by.ts'
import { exportRows } from '../../audit/export.ts'
import { Type } from '../../contract/schema.ts'
import { type AdminRoute, defineRoute, WithHeaders } from '../route.ts'

const exportLog = defineRoute({
  name: 'export_audit',
  tag: 'Audit',
  method: 'GET',
  path: '/admin/audit/export',
  summary: 'Every row as NDJSON, chain by chain, in the format of "tabbat audit export".',
  role: 'operator',
  stream: 'application/x-ndjson',
  output: Type.String(),
  run: async (deps, { actor }) => {
    await auditBy(deps, actor).record([{ phase: 'audit_exported', outcome: 'ok' }])
    const name = `audit-${new Date().toISOString().slice(0, 10)}.ndjson`
    const rows = exportRows(deps.context.store.audit)
    return new WithHeaders(rows, ['content-disposition', `attachment; filename="${name}"`])
  },
})

export const AUDIT_EXPORT_ROUTES: readonly AdminRoute[] = [exportLog]
