import type { NodesView } from '../../../../src/admin/settings.ts'
import type { SourceList } from '../../../../src/admin/sources.ts'
import { ObjectPage } from '../../components/object-page.tsx'
import { Panel } from '../../components/panel.tsx'
import { Pill } from '../../components/pill.tsx'
import { QueryResult } from '../../components/query-result.tsx'
import { SourceTable } from '../../components/sources-table.tsx'
import { Table } from '../../components/table.tsx'
import { When } from '../../components/when.tsx'
import { toCount, toMs } from '../../format.ts'
import { toHash } from '../../hash.ts'
import { useQuery, useReloads } from '../../use-query.ts'

const RELOAD_MS = 10_000

/** The nodes with their heartbeats, read again and again. */
export function useNodes() {
  const query = useQuery<NodesView>('/admin/nodes')
  useReloads(query, RELOAD_MS)
  return query
}

/** One node: its processes, and how the sources do as seen from it. */
export function NodePage({ name }: { name: string }) {
  const query = useNodes()
  return (
    <ObjectPage list="settings" listTitle="settings and nodes" name={name} query={query} missing={null}>
      {({ nodes }) => {
        const processes = nodes.filter(({ node }) => node === name)
        if (processes.length === 0) return <p>No process of this node has reported lately.</p>
        return (
          <>
            <Panel title={`Processes of ${name}`}>
              <NodeTable label={`Processes of ${name}`} rows={processes} />
            </Panel>
            <SourcesOfNode name={name} />
          </>
        )
      }}
    </ObjectPage>
  )
}

function SourcesOfNode({ name }: { name: string }) {
  const query = useQuery<SourceList>('/admin/sources')
  return (
    <Panel title="Sources, as seen from this node">
      <QueryResult query={query} lines={2}>
        {({ sources }) => {
          const groups = Map.groupBy(
            sources.filter(({ node }) => node === name),
            ({ source }) => source,
          )
          if (groups.size === 0) return <p class="dim">No vendor has been called from this node.</p>
          return (
            <>
              {[...groups].map(([source, states]) => (
                <section key={source}>
                  <h3>
                    <a href={toHash('sources', source)}>{source}</a>
                  </h3>
                  <SourceTable sources={states} />
                </section>
              ))}
            </>
          )
        }}
      </QueryResult>
    </Panel>
  )
}

type NodeView = NodesView['nodes'][number]

export function NodeTable({ label, rows }: { label: string; rows: readonly NodeView[] }) {
  return (
    <Table
      label={label}
      file="nodes"
      rows={rows}
      keyOf={({ process }) => process}
      columns={[
        {
          title: 'Node',
          cell: ({ node, worker }) => (
            <a href={toHash('settings', node)}>
              <code>
                {node}, worker {worker}
              </code>
            </a>
          ),
        },
        {
          title: 'State',
          cell: ({ alive }) => <Pill tone={alive ? 'good' : 'bad'}>{alive ? 'alive' : 'no heartbeat'}</Pill>,
        },
        { title: 'Version', cell: ({ version }) => version },
        { title: 'Started', cell: ({ started_at }) => <When at={started_at} /> },
        { title: 'Last heartbeat', cell: ({ seen_at }) => <When at={seen_at} to="second" /> },
        { title: 'In flight', cell: ({ in_flight }) => toCount(in_flight), isNumber: true },
        { title: 'Requests/s', cell: (row) => toCount(row.requests_per_s), isNumber: true },
        { title: 'Lag', cell: ({ lag_ms }) => toMs(lag_ms), isNumber: true },
      ]}
    />
  )
}
