import { auditBy } from '../../audit/audit-by.ts'
import { exportRows, readSourceAttempts } from '../../audit/export.ts'
import { AUDIT_PHASES } from '../../audit/phases.ts'
import { toComparable } from '../../audit/reverse-scan.ts'
import { type AuditFilter, searchAudit } from '../../audit/search.ts'
import { Type } from '../../contract/schema.ts'
import { toCanonicalNin } from '../../contract/virtual-nin.ts'
import { AppError } from '../../errors.ts'
import { VERIFICATION_ERRORS } from '../../operations/verification-errors.ts'
import type { LoggedRow } from '../../store/audit-row.ts'
import type { AdminDeps } from '../admin-deps.ts'
import { readCursor, toCursor } from '../audit-cursor.ts'
import { type AdminRoute, defineRoute, WithHeaders } from '../route.ts'
import {
  type AuditRowView,
  AuditSearch,
  AuditSearchResult,
  AuditTimeline,
} from '../shapes/audit.ts'

const tag = 'Audit'

/** Outcomes in the audit log. A request that cannot be read writes no row. */
const OUTCOMES = ['verified', ...VERIFICATION_ERRORS, 'ok', 'refused']
const UNLOGGED = ['malformed_json', 'body_too_large', 'unsupported_media_type', 'validation_failed']

const search = defineRoute({
  name: 'search_audit',
  tag,
  method: 'POST',
  path: '/admin/audit/search',
  summary:
    'Search the audit log, newest first. A NIN or BVN is hashed and not stored; a search by number is audited.',
  role: 'viewer',
  input: AuditSearch,
  output: AuditSearchResult,
  run: async (deps, { input, actor }) => {
    const filter = toFilter(deps, input)
    const before = input.before === undefined ? undefined : readCursor(input.before)
    if (filter.subject)
      await auditBy(deps, actor).record([{ phase: 'audit_searched', subject: filter.subject, outcome: 'ok' }])
    const { rows, next, isCut } = await searchAudit(deps.context.store.audit, filter, before)
    return {
      rows: rows.map(toRowView),
      next: next ? toCursor(next) : null,
      searched_back_to: isCut && next ? next.time : null,
      outcomes: OUTCOMES.filter((outcome) => !UNLOGGED.includes(outcome)),
      phases: [...AUDIT_PHASES],
    }
  },
})

/** Empty fields do not filter. */
function toFilter({ context }: AdminDeps, input: AuditSearch): AuditFilter {
  const { reference, key_id, outcome, phase, from, to, subject } = input
  const given = {
    request_reference: reference?.trim(),
    key_id: key_id?.trim(),
    outcome: outcome?.trim(),
    phase: phase?.trim(),
    from: from && toComparable(Date.parse(from)),
    to: to && toComparable(Date.parse(to)),
    subject: subject && context.toSubjectHash(subject.kind, toCanonicalNin(subject.number)),
  }
  return Object.fromEntries(Object.entries(given).filter(([, text]) => text !== undefined && text !== ''))
}

/** Without the subject hash: it would show that two rows are about the same person. */
const toRowView = (row: LoggedRow): AuditRowView => ({
  chain: row.chain,
  sequence: row.sequence,
  time: row.time,
  started_at: row.started_at,
  phase: row.phase,
  request_reference: row.request_reference,
  key_id: row.key_id,
  mode: row.mode,
  operation: row.operation,
  outcome: row.outcome,
  source_attempts: readSourceAttempts(row),
  amount: row.amount,
  consent_reference: row.consent_reference,
  fields_released: row.released,
  detail: row.detail,
  hash: Buffer.from(row.hash).toString('hex'),
})

const readTimeline = defineRoute({
  name: 'read_timeline',
  tag,
  method: 'GET',
  path: '/admin/audit/timelines/:reference',
  summary: 'All rows of one verification, oldest first.',
  role: 'viewer',
  output: AuditTimeline,
  run: async ({ context }, { params: { reference = '' } }) => {
    const rows = await context.store.audit.byReference(reference)
    if (rows.length === 0) throw new AppError('not_found')
    return { reference, rows: rows.map(toRowView) }
  },
})

const exportLog = defineRoute({
  name: 'export_audit',
  tag,
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

export const AUDIT_ROUTES: readonly AdminRoute[] = [search, readTimeline, exportLog]
