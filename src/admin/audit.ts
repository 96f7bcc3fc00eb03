import {
  AUDIT_OPERATIONS,
  type AuditFilter,
  auditFilterErrors,
  type GivenFilter,
  NO_OUTCOME,
  toAuditFilter,
} from '../audit/audit-filter.ts'
import { auditBy } from '../audit/audit-log.ts'
import { readSourceAttempts } from '../audit/export.ts'
import { type ScanPosition, toComparable } from '../audit/reverse-scan.ts'
import { AUDIT_PHASES } from '../audit/row.ts'
import type { SearchPage } from '../audit/search.ts'
import { findPurpose, findShared, type Timeline, toTimeline } from '../audit/search-timelines.ts'
import { NIN_PATTERN, toCanonicalNin } from '../contract/person.ts'
import type { Actor } from '../contract/role.ts'
import { type Static, Type } from '../contract/schema.ts'
import { AppError } from '../errors.ts'
import { readKeyNames } from '../keys/key-names.ts'
import type { LoggedRow } from '../ledger/audit-row.ts'
import { VERIFICATION_ERRORS } from '../operations/verification-reply.ts'
import type { AdminDeps } from './admin-deps.ts'
import { Cursor, Kind, readCursor, searchText, strict, Time, toCursor } from './fields.ts'
import { type AdminRoute, defineRoute } from './route.ts'

const Text = Type.Nullable(Type.String())

const SourceAttempts = Type.Array(
  Type.Object({
    name: Type.String(),
    result: Type.String(),
    ms: Type.Number(),
    /** The reference that the vendor gave its response. */
    reference: Type.Optional(Type.String()),
  }),
)

export const AuditRowView = Type.Object({
  chain: Type.String(),
  sequence: Type.Integer(),
  time: Time,
  /** When the verification began, where it has no row of phase `intent`. */
  started_at: Type.Nullable(Time),
  phase: Type.String(),
  request_reference: Text,
  key_id: Text,
  key_name: Text,
  mode: Text,
  operation: Text,
  outcome: Text,
  /** The calls of sources, in order. */
  source_attempts: SourceAttempts,
  amount: Text,
  consent_reference: Text,
  fields_released: Text,
  detail: Text,
  hash: Type.String(),
})
export type AuditRowView = Static<typeof AuditRowView>

/** All given fields must match; empty texts do not filter. */
const FILTER = {
  reference: Type.Optional(searchText(100)),
  /** The id of a key, or the name of one or several keys. */
  key: Type.Optional(searchText(100)),
  outcome: Type.Optional(searchText(60)),
  operation: Type.Optional(searchText(60)),
  /** A source that was called or skipped. */
  source: Type.Optional(searchText(60)),
  consent_reference: Type.Optional(searchText(200)),
  /** The X-Purpose of the caller. */
  purpose: Type.Optional(searchText(40)),
  from: Type.Optional(Time),
  to: Type.Optional(Time),
  /** The keyed hash of a number, as a search by number returns it. */
  person: Type.Optional(
    Type.String({ pattern: '^[0-9a-f]{64}$', 'x-rule': 'must be the keyed hash of a number: 64 hex digits' }),
  ),
}
const Phase = Type.Optional(searchText(60))

/** Newest first; `before` takes the `next` of an earlier page. A number is hashed by the server. */
const SEARCH = {
  ...FILTER,
  subject: Type.Optional(
    Type.Object(
      {
        kind: Kind,
        number: Type.String({
          pattern: NIN_PATTERN,
          'x-rule': 'must be 11 digits, or a virtual NIN',
        }),
      },
      strict,
    ),
  ),
  before: Type.Optional(Cursor),
}

const VerificationSearch = Type.Object(SEARCH, strict)

export const AuditSearch = Type.Object({ ...SEARCH, phase: Phase }, strict)
export type AuditSearch = Static<typeof AuditSearch>

/** The filter of an export, in the query. */
export const ExtractQuery = Type.Object(
  {
    ...FILTER,
    phase: Type.Optional({ ...searchText(60), description: 'Rows of this phase. Only with `view=rows`.' }),
    view: Type.Optional(Type.Enum(['verifications', 'rows'] as const)),
  },
  strict,
)
export type ExtractQuery = Static<typeof ExtractQuery>

const PAGE = {
  /** Cursor of the next page; null at the end. */
  next: Type.Nullable(Type.String()),
  /** Set when the search reached its limit of rows before the page was full: continue with `next`. */
  searched_back_to: Type.Nullable(Time),
  /** Rows of the log that this search read. */
  searched_rows: Type.Integer(),
  /** Archives of the log. Those in the folder of TABBAT_AUDIT_ARCHIVE_DIR are searched as well. */
  archives: Type.Integer(),
  /** Which archives were not searched, and how to search them; null if nothing is left out. */
  archives_note: Text,
  /** The keyed hash of the number that was searched for. */
  person: Text,
}

export const AuditSearchResult = Type.Object({ rows: Type.Array(AuditRowView), ...PAGE })
export type AuditSearchResult = Static<typeof AuditSearchResult>

/** `phone`: a record was found, with another phone; `detail`: a name or the date of birth that the key requires differed. */
const Difference = Type.Enum(['no_record', 'phone', 'detail'] as const)
type Difference = Static<typeof Difference>

/** A verification: its rows of the phases queued, intent, attempt and outcome as one. */
export const VerificationView = Type.Object({
  reference: Type.String(),
  started_at: Time,
  /** Null: no outcome is recorded. */
  ended_at: Type.Nullable(Time),
  outcome: Text,
  operation: Text,
  mode: Text,
  key_id: Text,
  key_name: Text,
  source_attempts: SourceAttempts,
  consent_reference: Text,
  /** The X-Purpose of the caller. */
  purpose: Text,
  /** Why it was not verified; null for any other outcome. */
  difference: Type.Nullable(Difference),
})
export type VerificationView = Static<typeof VerificationView>

export const VerificationSearchResult = Type.Object({
  verifications: Type.Array(VerificationView),
  ...PAGE,
})
export type VerificationSearchResult = Static<typeof VerificationSearchResult>

/** Values for the search form. */
export const AuditOptions = Type.Object({
  outcomes: Type.Array(Type.String()),
  phases: Type.Array(Type.String()),
  operations: Type.Array(Type.String()),
  sources: Type.Array(Type.String()),
  /** Those of TABBAT_PURPOSES. */
  purposes: Type.Array(Type.String()),
  keys: Type.Array(Type.Object({ id: Type.String(), name: Type.String() })),
})
export type AuditOptions = Static<typeof AuditOptions>

export const AuditTimeline = Type.Object({
  reference: Type.String(),
  purpose: Text,
  difference: Type.Nullable(Difference),
  /** At most 1000. */
  rows: Type.Array(AuditRowView),
  /** Rows of the phase `replay` are left out: the stored response was returned too often. An export has all rows. */
  has_more_replays: Type.Boolean(),
  /** Which archives were not searched for more rows; null if nothing is left out. */
  archives_note: Text,
})
export type AuditTimeline = Static<typeof AuditTimeline>

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
  const filter = requireFilter({ ...given, person }, keyNames)
  const position = readCursor(before, toPosition)
  if (person) await auditBy(deps, actor).record([{ phase: 'audit_searched', subject: person, outcome: 'ok' }])
  return { filter, keyNames, before: position }
}

/** Refuses what no row can have: a typing error would look like a log without such rows. */
export function requireFilter(given: GivenFilter, keyNames: ReadonlyMap<string, string>): AuditFilter {
  const errors = auditFilterErrors(given, keyNames)
  if (Object.keys(errors).length > 0) throw new AppError('validation_failed', { errors })
  return toAuditFilter(given, keyNames)
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
  next: next ? toAuditCursor(next) : null,
  searched_back_to: isCut && next ? next.time : null,
  searched_rows: looked,
  archives,
  archives_note: note,
  person: subject ?? null,
})

/**
 * A request that cannot be read writes no row, nor one that was refused before anybody was looked up. Of the limits, a row has those
 * that a pending verification ended with, or a row of a batch.
 */
const UNLOGGED = [
  'malformed_json',
  'body_too_large',
  'unsupported_media_type',
  'validation_failed',
  'pending',
  'idempotency_in_progress',
  'idempotency_key_reused',
  'audit_unavailable',
  'queue_full',
]
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
    operations: [...AUDIT_OPERATIONS],
    sources: ['sandbox', 'registry', ...context.config.knownVendors.keys()],
    purposes: [...(context.config.purposes ?? [])],
    keys: [...(await readKeyNames(context.store.keys))].map(([id, name]) => ({ id, name })),
  }),
})

const readTimeline = defineRoute({
  name: 'read_timeline',
  tag,
  method: 'GET',
  path: '/admin/audit/timelines/:reference',
  summary:
    'The rows of one verification, oldest first. Of stored responses that were returned again very often, only the first rows.',
  role: 'viewer',
  isSearch: true,
  output: AuditTimeline,
  run: async ({ searches, context: { store } }, { params: { reference = '' } }) => {
    const { found, note: archives_note } = await searches.find('timeline', { reference })
    const { rows, isWhole } = found
    if (rows.length === 0 && archives_note === null) throw new AppError('not_found')
    const keyNames = await readKeyNames(store.keys)
    const timeline = toTimeline(reference, rows)
    return {
      reference,
      purpose: timeline ? findPurpose(timeline) : null,
      difference: timeline ? findDifference(timeline) : null,
      rows: rows.map((row) => toRowView(row, keyNames)),
      has_more_replays: !isWhole,
      archives_note,
    }
  },
})

export const AUDIT_ROUTES: readonly AdminRoute[] = [searchVerifications, search, readOptions, readTimeline]

export const toAuditCursor = ({ time, chain, sequence }: ScanPosition) => toCursor(time, chain, sequence)

function toPosition([time, chain, sequence]: readonly unknown[]): ScanPosition | undefined {
  if (typeof time !== 'string' || typeof chain !== 'string' || !Number.isSafeInteger(sequence))
    return undefined
  const at = Date.parse(time)
  return Number.isNaN(at) ? undefined : { time: toComparable(at), chain, sequence: sequence as number }
}

type KeyNames = ReadonlyMap<string | null, string>

/** Without the subject hash: it would show that two rows are about the same person. */
const toRowView = (row: LoggedRow, keyNames: KeyNames): AuditRowView => ({
  chain: row.chain,
  sequence: row.sequence,
  time: row.time,
  started_at: row.started_at,
  phase: row.phase,
  request_reference: row.request_reference,
  key_id: row.key_id,
  key_name: keyNames.get(row.key_id) ?? null,
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

function toVerificationView(timeline: Timeline, keyNames: KeyNames): VerificationView {
  const { reference, startedAt, main, outcome, sourceAttempts } = timeline
  return {
    reference,
    started_at: startedAt,
    ended_at: main.phase === 'outcome' ? main.time : null,
    outcome,
    operation: main.operation,
    mode: main.mode,
    key_id: main.key_id,
    key_name: keyNames.get(main.key_id) ?? null,
    source_attempts: [...sourceAttempts],
    consent_reference: findShared(timeline, 'consent_reference'),
    purpose: findPurpose(timeline),
    difference: findDifference(timeline),
  }
}

function findDifference({ outcome, sourceAttempts, rows }: Timeline): Difference | null {
  if (outcome !== 'not_verified') return null
  const results = sourceAttempts.map(({ result }) => result)
  if (results.includes('names_differ')) return 'detail'
  if (!results.includes('found') && !results.includes('reused')) return 'no_record'
  return rows.some(({ detail }) => /\bmatch: /.test(detail ?? '')) ? 'detail' : 'phone'
}
