import { type Static, Type } from '../../contract/schema.ts'
import { VIRTUAL_NIN_PATTERN } from '../../contract/virtual-nin.ts'
import { Kind, searchText, strict, Time } from './fields.ts'

const Text = Type.Nullable(Type.String())

export const AuditRowView = Type.Object({
  chain: Type.String(),
  sequence: Type.Integer(),
  time: Time,
  /** When the verification began, where it has no row of phase `intent`. */
  started_at: Type.Nullable(Time),
  phase: Type.String(),
  request_reference: Text,
  key_id: Text,
  mode: Text,
  operation: Text,
  outcome: Text,
  /** The calls of sources, in order. */
  source_attempts: Type.Array(
    Type.Object({
      name: Type.String(),
      result: Type.String(),
      ms: Type.Number(),
      /** The reference that the vendor gave its response. */
      reference: Type.Optional(Type.String()),
    }),
  ),
  amount: Text,
  consent_reference: Text,
  fields_released: Text,
  detail: Text,
  hash: Type.String(),
})
export type AuditRowView = Static<typeof AuditRowView>

/** Rows match all given fields. Newest first; `before` takes the `next` of an earlier page. */
export const AuditSearch = Type.Object(
  {
    reference: Type.Optional(searchText(100)),
    key_id: Type.Optional(Type.String({ maxLength: 20 })),
    outcome: Type.Optional(Type.String({ maxLength: 60 })),
    phase: Type.Optional(Type.String({ maxLength: 60 })),
    from: Type.Optional(Time),
    to: Type.Optional(Time),
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
  },
  strict,
)
export type AuditSearch = Static<typeof AuditSearch>
export const AuditSearchResult = Type.Object({
  rows: Type.Array(AuditRowView),
  /** Cursor of the next page; null at the end. */
  next: Type.Nullable(Type.String()),
  /** Set when the search reached its limit of rows before the page was full: continue with `next`. */
  searched_back_to: Type.Nullable(Time),
  /** Values for the search form. */
  outcomes: Type.Array(Type.String()),
  phases: Type.Array(Type.String()),
})
export type AuditSearchResult = Static<typeof AuditSearchResult>

export const AuditTimeline = Type.Object({ reference: Type.String(), rows: Type.Array(AuditRowView) })
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
