import { auditBy } from '../../audit/audit-by.ts'
import { type AuditFilter, NO_OUTCOME } from '../../audit/audit-filter.ts'
import { toAuditFilter } from '../../audit/given-filter.ts'
import { AUDIT_PHASES } from '../../audit/phases.ts'
import type { SearchPage } from '../../audit/search-page.ts'
import type { Actor } from '../../contract/role.ts'
import { toCanonicalNin } from '../../contract/virtual-nin.ts'
import { AppError } from '../../errors.ts'
import { readKeyNames } from '../../keys/key-names.ts'
import { VERIFICATION_ERRORS } from '../../operations/verification-errors.ts'
import { VENDORS } from '../../sources/vendors.ts'
import type { AdminDeps } from '../admin-deps.ts'
import { readCursor, toCursor } from '../audit-cursor.ts'
import { toRowView, toVerificationView } from '../audit-views.ts'
import { type AdminRoute, defineRoute } from '../route.ts'
import {
  AuditOptions,
  AuditSearch,
  AuditSearchResult,
  AuditTimeline,
  VerificationSearch,
  VerificationSearchResult,
} from '../shapes/audit.ts'

const tag = 'Audit'

const searchVerifications = defineRoute({
  name: 'search_verifications',
  tag,
  method: 'POST',
  path: '/admin/audit/verifications/search',
  summary:
    'Search verifications, newest first: the rows of each are one result. A NIN or BVN is hashed and not stored; a search by person is audited.',
  role: 'viewer',
  isSearch: true,
  input: VerificationSearch,
  output: VerificationSearchResult,
  run: async (deps, { input, actor }) => {
    const { filter, before, keyNames } = await readSearch(deps, input, actor)
    const found = await deps.searches.find('verifications', { filter, before })
    const verifications = found.found.found.map((timeline) => toVerificationView(timeline, keyNames))
    return { verifications, ...toPageFields(found, filter) }
  },
})

const search = defineRoute({
  name: 'search_audit',
  tag,
  method: 'POST',
  path: '/admin/audit/search',
  summary:
    'Search the rows of the audit log, newest first. A NIN or BVN is hashed and not stored; a search by person is audited.',
  role: 'viewer',
  isSearch: true,
  input: AuditSearch,
  output: AuditSearchResult,
  run: async (deps, { input, actor }) => {
    const { filter, before, keyNames } = await readSearch(deps, input, actor)
    const found = await deps.searches.find('rows', { filter, before })
    const rows = found.found.found.map((row) => toRowView(row, keyNames))
    return { rows, ...toPageFields(found, filter) }
  },
})

/** The filter, and where the search continues. A search for a person is audited before it is made. */
async function readSearch(deps: AdminDeps, input: AuditSearch, actor: Actor) {
  const { context } = deps
  const { subject, before, ...given } = input
  const person = subject ? context.toSubjectHash(subject.kind, toCanonicalNin(subject.number)) : given.person
  const keyNames = await readKeyNames(context.store.keys)
  const filter = toAuditFilter({ ...given, person }, keyNames)
  const position = before === undefined ? undefined : readCursor(before)
  if (person) await auditBy(deps, actor).record([{ phase: 'audit_searched', subject: person, outcome: 'ok' }])
  return { filter, keyNames, before: position }
}

type FoundPage = {
  readonly found: SearchPage<unknown>
  readonly archives: number
  readonly note: string | null
}

const toPageFields = (
  { found: { next, isCut, looked }, archives, note }: FoundPage,
  { subject }: AuditFilter,
) => ({
  next: next ? toCursor(next) : null,
  searched_back_to: isCut && next ? next.time : null,
  searched_rows: looked,
  archives,
  archives_note: note,
  person: subject ?? null,
})

/** A request that cannot be read writes no row. */
const UNLOGGED = ['malformed_json', 'body_too_large', 'unsupported_media_type', 'validation_failed']
const OUTCOMES = ['verified', ...VERIFICATION_ERRORS, 'cancelled', 'expired', 'ok', 'refused', NO_OUTCOME]

const readOptions = defineRoute({
  name: 'read_audit_options',
  tag,
  method: 'GET',
  path: '/admin/audit/options',
  summary: 'Values to search the audit log by: outcomes, phases, operations, sources, keys.',
  role: 'viewer',
  output: AuditOptions,
  run: async ({ context }) => ({
    outcomes: OUTCOMES.filter((outcome) => !UNLOGGED.includes(outcome)),
    phases: [...AUDIT_PHASES],
    operations: ['verify_nin', 'verify_bvn'],
    sources: ['sandbox', 'registry', ...Object.keys(VENDORS)],
    keys: [...(await readKeyNames(context.store.keys))].map(([id, name]) => ({ id, name })),
  }),
})

const readTimeline = defineRoute({
  name: 'read_timeline',
  tag,
  method: 'GET',
  path: '/admin/audit/timelines/:reference',
  summary: 'All rows of one verification, oldest first.',
  role: 'viewer',
  isSearch: true,
  output: AuditTimeline,
  run: async ({ searches, context: { store } }, { params: { reference = '' } }) => {
    const { found: rows, note: archives_note } = await searches.find('timeline', { reference })
    if (rows.length === 0 && archives_note === null) throw new AppError('not_found')
    const keyNames = await readKeyNames(store.keys)
    return { reference, rows: rows.map((row) => toRowView(row, keyNames)), archives_note }
  },
})

export const AUDIT_ROUTES: readonly AdminRoute[] = [searchVerifications, search, readOptions, readTimeline]
