import { type Static, Type } from '../../contract/schema.ts'
import { VIRTUAL_NIN_PATTERN } from '../../contract/virtual-nin.ts'
import { Kind, searchText, strict, Time } from './fields.ts'

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
          pattern: `^(?:[0-9]{11}|${VIRTUAL_NIN_PATTERN})$`,
          'x-rule': 'must be 11 digits, or a virtual NIN',
        }),
      },
      strict,
    ),
  ),
  before: Type.Optional(Type.String({ maxLength: 200 })),
}

export const VerificationSearch = Type.Object(SEARCH, strict)
export type VerificationSearch = Static<typeof VerificationSearch>

export const AuditSearch = Type.Object({ ...SEARCH, phase: Phase }, strict)
export type AuditSearch = Static<typeof AuditSearch>

/** The filter of an export, in the query. */
export const ExtractQuery = Type.Object(
  { ...FILTER, phase: Phase, view: Type.Optional(Type.Enum(['verifications', 'rows'] as const)) },
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
  keys: Type.Array(Type.Object({ id: Type.String(), name: Type.String() })),
})
export type AuditOptions = Static<typeof AuditOptions>

export const AuditTimeline = Type.Object({
  reference: Type.String(),
  rows: Type.Array(AuditRowView),
  /** Which archives were not searched for more rows; null if nothing is left out. */
  archives_note: Text,
})
export type AuditTimeline = Static<typeof AuditTimeline>

/** The verification of the log that is running, or the last one. */
export const ChainCheck = Type.Object({
  state: Type.Enum(['none', 'running', 'sound', 'faulty', 'failed'] as const),
  rows: Type.Integer(),
  total: Type.Integer(),
  chains: Type.Integer(),
  checkpoints: Type.Integer(),
  unsigned: Type.Integer(),
  seconds: Type.Number(),
  started_at: Type.Nullable(Time),
  started_by: Text,
  /** The result, what was compared, and what this cannot detect: the text of "tabbat audit verify". */
  headline: Text,
  compared: Type.Array(Type.String()),
  limits: Type.Array(Type.String()),
})
export type ChainCheck = Static<typeof ChainCheck>
