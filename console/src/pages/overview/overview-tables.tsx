import type { Overview as OverviewShape } from '../../../../src/admin/overview-figures.ts'
import { Panel } from '../../components/panel.tsx'
import { Pill, toOutcomeTone } from '../../components/pill.tsx'
import { Empty } from '../../components/query-result.tsx'
import { Table } from '../../components/table.tsx'
import { When } from '../../components/when.tsx'
import { toCount, toOperation, toWords } from '../../format.ts'
import { toHash, toKeySearch } from '../../hash.ts'

export function TopKeys({ overview: { keys } }: { overview: OverviewShape }) {
  return (
    <Panel title="Top keys">
      {keys.length === 0 ? (
        <Empty>
          <p>
            No key was used in this period. <a href={toHash('keys')}>Create one</a> or{' '}
            <a href={toHash('try')}>try a verification</a>.
          </p>
        </Empty>
      ) : (
        <Table
          label="Keys by verifications"
          rows={keys}
          keyOf={({ id }) => id}
          columns={[
            { title: 'Key', cell: ({ name, id }) => <NamedKey name={name} id={id} /> },
            {
              title: 'Mode',
              cell: ({ mode }) => <Pill tone={mode === 'live' ? 'live' : 'dim'}>{mode}</Pill>,
            },
            {
              title: 'Verifications',
              cell: ({ verifications }) => toCount(verifications),
              isNumber: true,
            },
            { title: 'Failed', cell: ({ failed }) => toCount(failed), isNumber: true },
          ]}
        />
      )}
    </Panel>
  )
}

function NamedKey({ name, id }: { name: string; id: string }) {
  return (
    <>
      <a href={toHash('audit', toKeySearch(id))}>{name}</a>
      <br />
      <code>{id}</code>
    </>
  )
}

export function BySource({ overview: { by_source } }: { overview: OverviewShape }) {
  return (
    <Panel title="Verifications by source">
      {by_source.length === 0 ? (
        <Empty>
          <p>No source answered in this period.</p>
        </Empty>
      ) : (
        <Table
          label="Verifications by source"
          rows={by_source}
          keyOf={({ source }) => source}
          columns={[
            { title: 'Source', cell: ({ source }) => source },
            {
              title: 'Verifications',
              cell: ({ verifications }) => toCount(verifications),
              isNumber: true,
            },
          ]}
        />
      )}
    </Panel>
  )
}

export function LastErrors({ errors }: { errors: OverviewShape['errors'] }) {
  return (
    <Panel title="Last errors">
      {errors.length === 0 ? (
        <Empty>
          <p>No errors in this period.</p>
        </Empty>
      ) : (
        <Table
          label="Last errors"
          rows={errors}
          keyOf={({ at, operation, outcome, key_id, reference }) =>
            [at, operation, outcome, key_id, reference].join(' ')
          }
          columns={[
            { title: 'Last', cell: ({ at }) => <When at={at} to="second" /> },
            {
              title: 'Outcome',
              cell: ({ outcome, count }) => (
                <span class="nowrap">
                  <Pill tone={toOutcomeTone(outcome)}>{toWords(outcome)}</Pill>
                  {count > 1 && <b> ×{toCount(count)}</b>}
                </span>
              ),
            },
            {
              title: 'Operation',
              cell: ({ operation }) => <span class="nowrap">{toOperation(operation)}</span>,
            },
            { title: 'Key', cell: ({ key_id }) => (key_id === null ? '–' : <code>{key_id}</code>) },
            {
              title: 'Timeline',
              cell: ({ reference }) =>
                reference === null ? (
                  '–'
                ) : (
                  <a href={toHash('audit', reference)}>
                    <code class="clip">{reference}</code>
                  </a>
                ),
            },
          ]}
        />
      )}
    </Panel>
  )
}
