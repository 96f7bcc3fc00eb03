import type { AuditRowView, VerificationView } from '../../../src/admin/shapes/audit.ts'
import { toMs, toOperation, toWords } from '../format.ts'
import { toHash } from '../hash.ts'
import { auditTexts as texts } from '../texts/en/audit.ts'
import { Pill, toOutcomeTone } from './pill.tsx'
import { type Column, Table } from './table.tsx'
import { When } from './when.tsx'

type Common = Pick<AuditRowView, 'operation' | 'outcome' | 'key_id' | 'key_name'>

/** Columns that verifications and rows have in common. */
const OPERATION: Column<Common> = {
  title: texts.operation,
  cell: ({ operation }) => <span class="nowrap">{operation === null ? '–' : toOperation(operation)}</span>,
}
const KEY: Column<Common> = {
  title: texts.key,
  cell: ({ key_id, key_name }) =>
    key_id === null ? (
      '–'
    ) : (
      <a class="clip" href={`${toHash('audit')}?${new URLSearchParams({ key: key_id })}`} title={key_id}>
        {key_name ?? key_id}
      </a>
    ),
}

const toOutcome = (outcome: string | null, otherwise: string) =>
  outcome === null ? (
    <span class="dim">{otherwise}</span>
  ) : (
    <Pill tone={toOutcomeTone(outcome)}>{toWords(outcome)}</Pill>
  )

const toReference = (reference: string | null) =>
  reference === null ? (
    '–'
  ) : (
    <a href={toHash('audit', reference)}>
      <code class="clip">{reference}</code>
    </a>
  )

export function VerificationTable({ verifications }: { verifications: readonly VerificationView[] }) {
  return (
    <Table
      label={texts.verificationsLabel}
      rows={verifications}
      keyOf={({ reference }) => reference}
      columns={[
        { title: texts.started, cell: ({ started_at }) => <When at={started_at} to="second" /> },
        OPERATION,
        { title: texts.outcome, cell: ({ outcome }) => toOutcome(outcome, texts.pending) },
        KEY,
        { title: texts.sources, cell: toSources },
        { title: texts.took, isNumber: true, cell: toDuration },
        {
          title: texts.consentColumn,
          cell: ({ consent_reference }) => <span class="clip">{consent_reference ?? '–'}</span>,
        },
        { title: texts.reference, cell: ({ reference }) => toReference(reference) },
      ]}
    />
  )
}

const toSources = ({ source_attempts }: VerificationView) =>
  source_attempts.length === 0
    ? '–'
    : source_attempts.map(({ name, result }) => `${name}: ${toWords(result)}`).join(', ')

const toDuration = ({ started_at, ended_at }: VerificationView) =>
  toMs(ended_at === null ? null : Math.max(0, Date.parse(ended_at) - Date.parse(started_at)))

export function RowTable({ rows }: { rows: readonly AuditRowView[] }) {
  return (
    <Table
      label={texts.rowsLabel}
      rows={rows}
      keyOf={({ chain, sequence }) => `${chain} ${sequence}`}
      columns={[
        { title: texts.time, cell: ({ time }) => <When at={time} to="second" /> },
        { title: texts.phase, cell: ({ phase }) => <span class="nowrap">{toWords(phase)}</span> },
        OPERATION,
        { title: texts.outcome, cell: ({ outcome }) => toOutcome(outcome, '–') },
        KEY,
        { title: texts.reference, cell: ({ request_reference }) => toReference(request_reference) },
        { title: texts.detail, cell: ({ detail }) => <span class="clip">{detail ?? ''}</span> },
      ]}
    />
  )
}
