import type { AuditRowView, VerificationView } from '../../../../src/admin/audit.ts'
import { Pill, toOutcomeTone } from '../../components/pill.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { When } from '../../components/when.tsx'
import { toMs, toOperation, toWords } from '../../format.ts'
import { toHash } from '../../hash.ts'

type Common = Pick<AuditRowView, 'operation' | 'outcome' | 'key_id' | 'key_name'>

/** Columns that verifications and rows have in common. */
const OPERATION: Column<Common> = {
  title: 'Operation',
  cell: ({ operation }) => <span class="nowrap">{operation === null ? '–' : toOperation(operation)}</span>,
}
const KEY: Column<Common> = {
  title: 'Key',
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
      label="Verifications that fit the search"
      rows={verifications}
      keyOf={({ reference }) => reference}
      columns={[
        { title: 'Started', cell: ({ started_at }) => <When at={started_at} to="second" /> },
        OPERATION,
        { title: 'Outcome', cell: ({ outcome }) => toOutcome(outcome, 'none yet') },
        KEY,
        { title: 'Sources', cell: toSources },
        { title: 'Took', isNumber: true, cell: toDuration },
        {
          title: 'Consent',
          cell: ({ consent_reference }) => <span class="clip">{consent_reference ?? '–'}</span>,
        },
        { title: 'Reference', cell: ({ reference }) => toReference(reference) },
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
      label="Rows of the audit log"
      rows={rows}
      keyOf={({ chain, sequence }) => `${chain} ${sequence}`}
      columns={[
        { title: 'Time', cell: ({ time }) => <When at={time} to="second" /> },
        { title: 'Phase', cell: ({ phase }) => <span class="nowrap">{toWords(phase)}</span> },
        OPERATION,
        { title: 'Outcome', cell: ({ outcome }) => toOutcome(outcome, '–') },
        KEY,
        { title: 'Reference', cell: ({ request_reference }) => toReference(request_reference) },
        { title: 'Detail', cell: ({ detail }) => <span class="clip">{detail ?? ''}</span> },
      ]}
    />
  )
}
