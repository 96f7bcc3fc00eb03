import type { SourceState } from '../../../src/admin/source-states.ts'
import type { VendorDescription } from '../../../src/admin/sources.ts'
import { toCount, toDay, toMs, toNaira, toOperation } from '../format.ts'
import { toHash } from '../hash.ts'
import {
  findWorstNodes,
  type Spend,
  toBreaker,
  toErrorRate,
  toHealth,
  type WorstNode,
} from '../source-health.ts'
import { Facts } from './facts.tsx'
import { Pill } from './pill.tsx'
import { type Column, Table } from './table.tsx'
import { When } from './when.tsx'

/** The health of a source; for a catalogue source, the outcome of its last sync. */
export function HealthPill({ source }: { source: SourceState }) {
  const { tone, words } = toHealth(source)
  return <Pill tone={tone}>{words}</Pill>
}

/** Spend since midnight in Lagos, over all operations and nodes. */
export function SpentToday({ spend }: { spend: Spend }) {
  const { source, spent_kobo_today: spent, cap_kobo: cap } = spend
  if (cap === null) return <span class="nowrap">{toNaira(spent)}</span>
  return (
    <span class="spend">
      <span class="nowrap">
        {toNaira(spent)} <span class="dim">of {toNaira(cap)}</span>
      </span>
      <meter
        min={0}
        max={cap}
        value={spent}
        low={cap * 0.8}
        high={cap - 1}
        optimum={0}
        aria-label={`${source}: spend as part of the daily cap`}
      />
    </span>
  )
}

/** `last_success_at` of a catalogue source is its last sync, which may have failed. */
const findSuccess = (row: SourceState) =>
  row.calls === null && toHealth(row).tone !== 'good' ? null : row.last_success_at

const COLUMNS: readonly Column<SourceState>[] = [
  { title: 'Source', cell: ({ source }) => <a href={toHash('sources', source)}>{source}</a> },
  { title: 'Operation', cell: ({ operation }) => <span class="nowrap">{toOperation(operation)}</span> },
  { title: 'State', cell: (row) => <HealthPill source={row} /> },
  { title: 'Breaker', cell: (row) => <span class="nowrap">{toBreaker(row) ?? '–'}</span> },
  { title: 'Errors', cell: toErrorRate, isNumber: true },
  { title: 'p50', cell: ({ p50_ms }) => toMs(p50_ms), isNumber: true },
  { title: 'p95', cell: ({ p95_ms }) => toMs(p95_ms), isNumber: true },
  { title: 'p99', cell: ({ p99_ms }) => toMs(p99_ms), isNumber: true },
  {
    title: 'Calls since start',
    cell: ({ calls }) => (calls === null ? '–' : toCount(calls)),
    isNumber: true,
  },
  {
    title: 'Last success',
    cell: (row) => <When at={findSuccess(row)} otherwise="none yet" />,
  },
]

const NODE: Column<SourceState> = {
  title: 'Node',
  cell: ({ node }) =>
    node === null ? (
      '–'
    ) : (
      <a href={toHash('settings', node)}>
        <code>{node}</code>
      </a>
    ),
}

/** One source: each operation on each node. */
export function SourceTable({ sources }: { sources: readonly SourceState[] }) {
  const hasNodes = new Set(sources.map(({ node }) => node)).size > 1
  const columns = COLUMNS.filter(({ title }) => title !== 'Source')
  return (
    <Table
      label={`State of ${sources[0]?.source ?? ''}`}
      file="source-state"
      rows={sources}
      keyOf={({ operation, node }) => `${operation} ${node}`}
      columns={hasNodes ? [...columns.slice(0, 1), NODE, ...columns.slice(1)] : columns}
    />
  )
}

const SUMMARY_COLUMNS = new Set(['Source', 'Operation', 'Breaker', 'Errors', 'p95', 'Last success'])

const STATE: Column<WorstNode> = {
  title: 'State',
  cell: (row) => (
    <span class="nowrap">
      <HealthPill source={row} />
      {row.alike < row.nodes && (
        <small class="dim">
          {' '}
          on {row.alike} of {row.nodes} nodes
        </small>
      )}
    </span>
  ),
  exported: {
    State: (row) => toHealth(row).words,
    'Nodes in this state': ({ alike }) => alike,
    Nodes: ({ nodes }) => nodes,
  },
}

/** All sources: the worst node of each operation, and the spend once per source. */
export function SourcesTable({ sources }: { sources: readonly SourceState[] }) {
  const rows = [...Map.groupBy(findWorstNodes(sources), ({ source }) => source).values()].flat()
  const [source, operation, ...others] = COLUMNS.filter(({ title }) => SUMMARY_COLUMNS.has(title))
  const isFirst = (row: WorstNode) => rows.find(({ source }) => source === row.source) === row
  const spent: Column<WorstNode> = {
    title: 'Spent today',
    cell: (row) => isFirst(row) && <SpentToday spend={row} />,
    isNumber: true,
    exported: {
      'Spent today': (row) => (isFirst(row) ? toNaira(row.spent_kobo_today) : null),
      'Cap of a day': (row) => (isFirst(row) && row.cap_kobo !== null ? toNaira(row.cap_kobo) : null),
    },
  }
  const columns = [source, STATE, operation, ...others, spent].filter((column) => column !== undefined)
  return (
    <Table
      label="Sources"
      file="sources"
      rows={rows}
      keyOf={({ source, operation }) => `${source} ${operation}`}
      columns={columns}
    />
  )
}

/** Where a vendor is described, and what was proved of it with an account. */
export function VendorFacts({ vendor }: { vendor: VendorDescription | undefined }) {
  if (!vendor) return null
  return (
    <Facts
      facts={[
        ['Described by', <Origin key="origin" vendor={vendor} />],
        ...(vendor.documentation_url === null
          ? []
          : [['Written from', <Documents key="documents" vendor={vendor} />] as const]),
        ...vendor.proofs.map(
          (proof) =>
            [
              `Proved for ${NUMBERS[proof.operation]}`,
              <ProofText key={proof.operation} name={vendor.name} proof={proof} />,
            ] as const,
        ),
      ]}
    />
  )
}

function Origin({ vendor: { origin, path } }: { vendor: VendorDescription }) {
  if (origin === 'code') return <>code of Tabbat, not a file</>
  if (origin === 'built_in') return <>a file that comes with Tabbat</>
  return (
    <>
      your file <code class="breaks">{path}</code>
    </>
  )
}

function Documents({ vendor }: { vendor: VendorDescription }) {
  return (
    <>
      <a href={vendor.documentation_url ?? ''} target="_blank" rel="noopener noreferrer">
        the documents of {vendor.title}
      </a>
      , read on {toDay(vendor.documentation_read ?? '')}
    </>
  )
}

type Proof = VendorDescription['proofs'][number]

const NUMBERS: Readonly<Record<Proof['operation'], string>> = {
  nin: 'NIN',
  virtual_nin: 'virtual NIN',
  bvn: 'BVN',
}

function ProofText({ name, proof }: { name: string; proof: Proof }) {
  const { last } = proof
  if (!last)
    return (
      <>
        not proved yet.{' '}
        <span class="dim">
          Run{' '}
          <code class="breaks">
            tabbat vendors certify {name} --operation {proof.operation}
          </code>
        </span>
      </>
    )
  const author = `by ${last.by} on ${toDay(last.at)}, at ${last.host}`
  if (last.is_of_earlier_file) return <>not proved yet. An earlier file was proved {author}</>
  const rules = proof.proved_rules.length + proof.other_rules.length
  return (
    <>
      {toCount(proof.proved_rules.length)} of {toCount(rules)} rules and {toCount(proof.proved_fields)} of{' '}
      {toCount(proof.fields)} fields, {author}
      {proof.other_rules.length > 0 && (
        <span class="dim">. Rules not proved yet: {proof.other_rules.join('; ')}</span>
      )}
    </>
  )
}
