import { auditBy } from '../../audit/audit-by.ts'
import { exportRows, readTried } from '../../audit/export.ts'
import { AUDIT_PHASES } from '../../audit/phases.ts'
import { toComparable } from '../../audit/reverse-scan.ts'
import { type AuditFilter, searchAudit } from '../../audit/search.ts'
import { Type } from '../../contract/schema.ts'
import { AppError } from '../../errors.ts'
import { VERIFICATION_ERRORS } from '../../operations/verification.ts'
import type { AuditRow } from '../../store/audit-row.ts'
import type { AdminDeps } from '../admin-deps.ts'
import { readCursor, toCursor } from '../audit-cursor.ts'
import { type AdminRoute, defineRoute, WithHeaders } from '../route.ts'
import { AuditFound, type AuditLine, AuditSearch, ChainCheck, Story } from '../shapes/audit.ts'

const room = 'Audit'

/** The ends of a verification that stand in the log; a request that is not understood leaves no row. */
const OUTCOMES = ['verified', ...VERIFICATION_ERRORS, 'ok', 'refused']
const UNLOGGED = ['malformed_json', 'body_too_large', 'unsupported_media_type', 'validation_failed']

const search = defineRoute({
  name: 'search_audit',
  room,
  method: 'POST',
  path: '/admin/audit/search',
  summary:
    'Rows of the audit log, the newest first. A number is hashed, and kept nowhere; the search for it is audited.',
  role: 'viewer',
  input: AuditSearch,
  output: AuditFound,
  run: async (desk, { input, person }) => {
    const filter = toFilter(desk, input)
    const before = input.before === undefined ? undefined : readCursor(input.before)
    if (filter.subject)
      await auditBy(desk, person).record([
        { phase: 'audit_searched', subject: filter.subject, outcome: 'ok' },
      ])
    const { rows, next, isCut } = await searchAudit(desk.context.store.audit, filter, before)
    return {
      rows: rows.map(toLine),
      next: next ? toCursor(next) : null,
      searched_back_to: isCut && next ? next.time : null,
      outcomes: OUTCOMES.filter((outcome) => !UNLOGGED.includes(outcome)),
      phases: [...AUDIT_PHASES],
    }
  },
})

/** What is empty was not asked for. */
function toFilter({ context }: AdminDeps, input: AuditSearch): AuditFilter {
  const { reference, key_id, outcome, phase, from, to, subject } = input
  const given = {
    request_reference: reference?.trim(),
    key_id: key_id?.trim(),
    outcome: outcome?.trim(),
    phase: phase?.trim(),
    from: from && toComparable(Date.parse(from)),
    to: to && toComparable(Date.parse(to)),
    subject: subject && context.toSubjectHash(subject.kind, subject.number),
  }
  return Object.fromEntries(Object.entries(given).filter(([, text]) => text !== undefined && text !== ''))
}

/** Whom a row is about is left out: a hash says nothing to people, and would tell that two rows are about one person. */
const toLine = (row: AuditRow): AuditLine => ({
  chain: row.chain,
  sequence: row.sequence,
  time: row.time,
  phase: row.phase,
  request_reference: row.request_reference,
  key_id: row.key_id,
  mode: row.mode,
  operation: row.operation,
  outcome: row.outcome,
  tried: readTried(row),
  amount: row.amount,
  consent_reference: row.consent_reference,
  fields_released: row.fields_released,
  detail: row.detail,
  hash: Buffer.from(row.hash).toString('hex'),
})

const tellStory = defineRoute({
  name: 'tell_story',
  room,
  method: 'GET',
  path: '/admin/audit/stories/:reference',
  summary: 'All rows of one verification, in order.',
  role: 'viewer',
  output: Story,
  run: async ({ context }, { params: { reference = '' } }) => {
    const rows = await context.store.audit.byReference(reference)
    if (rows.length === 0) throw new AppError('not_found')
    return { reference, rows: rows.map(toLine) }
  },
})

const readCheck = defineRoute({
  name: 'read_chain_check',
  room,
  method: 'GET',
  path: '/admin/audit/check',
  summary: 'How far the reading of the whole log has come, or how the last one ended.',
  role: 'viewer',
  isBackground: true,
  output: ChainCheck,
  run: async ({ checks }) => checks.read(),
})

const startCheck = defineRoute({
  name: 'start_chain_check',
  room,
  method: 'POST',
  path: '/admin/audit/check',
  summary: 'Read the whole log, and hold it against its checkpoints. One at a time.',
  role: 'operator',
  output: ChainCheck,
  run: async ({ checks }, { person }) => checks.start(person),
})

const exportLog = defineRoute({
  name: 'export_audit',
  room,
  method: 'GET',
  path: '/admin/audit/export',
  summary: 'Every row as NDJSON, chain by chain, as "tabbat audit export" writes it.',
  role: 'operator',
  stream: 'application/x-ndjson',
  output: Type.String(),
  run: async (desk, { person }) => {
    await auditBy(desk, person).record([{ phase: 'audit_exported', outcome: 'ok' }])
    const name = `audit-${new Date().toISOString().slice(0, 10)}.ndjson`
    const rows = exportRows(desk.context.store.audit)
    return new WithHeaders(rows, ['content-disposition', `attachment; filename="${name}"`])
  },
})

export const AUDIT_ROUTES: readonly AdminRoute[] = [search, tellStory, readCheck, startCheck, exportLog]
