import { useState } from 'preact/hooks'
import type { Endpoint, Endpoints } from '../../../../src/admin/webhooks.ts'
import { useHasRole } from '../../app-context.ts'
import { GuideLink } from '../../components/guide-link.tsx'
import { lazy } from '../../components/lazy.tsx'
import { Panel } from '../../components/panel.tsx'
import { Empty, QueryResult } from '../../components/query-result.tsx'
import { SearchedRows } from '../../components/searched-rows.tsx'
import { Table } from '../../components/table.tsx'
import { toCount } from '../../format.ts'
import { toGuide } from '../../guide.ts'
import { toHash } from '../../hash.ts'
import { useQuery } from '../../use-query.ts'
import { EndpointActions, EndpointState, type OpenRow, RowDialogs } from './endpoint-actions.tsx'
import { CreateEndpointDialog } from './endpoint-dialogs.tsx'

const EndpointPage = lazy(async () => (await import('./endpoint-page.tsx')).EndpointPage)

export function Webhooks({ rest }: { rest: string }) {
  return rest === '' ? <EndpointLists /> : <EndpointPage key={rest} id={rest} />
}

function EndpointLists() {
  const query = useQuery<Endpoints>('/admin/webhooks')
  const isOperator = useHasRole('operator')
  const [open, setOpen] = useState<OpenRow>()
  const [isNew, setNew] = useState(false)
  return (
    <>
      <p class="dim">
        Endpoints are told of events by signed requests, without personal data.{' '}
        <GuideLink to={toGuide('webhooks')}>More about webhooks</GuideLink>
      </p>
      <Panel
        title="Endpoints"
        aside={
          isOperator &&
          query.value && (
            <button type="button" class="main push" onClick={() => setNew(true)}>
              Create endpoint
            </button>
          )
        }
      >
        <QueryResult query={query}>
          {({ endpoints }) => <EndpointList rows={endpoints} onOpen={setOpen} />}
        </QueryResult>
      </Panel>
      {isNew && query.value && (
        <CreateEndpointDialog
          endpoints={query.value}
          onClose={() => setNew(false)}
          onCreated={({ secret }) => {
            setNew(false)
            setOpen({ what: 'secret', secret })
            query.reload()
          }}
        />
      )}
      {open && <RowDialogs open={open} onOpen={setOpen} onChanged={query.reload} />}
    </>
  )
}

type ListProps = { readonly rows: readonly Endpoint[]; readonly onOpen: (open: OpenRow) => void }

function EndpointList({ rows, onOpen }: ListProps) {
  if (rows.length === 0)
    return (
      <Empty>
        <p>There are no endpoints yet. Create one to be told when a vendor is down or its cap is near.</p>
      </Empty>
    )
  return (
    <SearchedRows
      what="endpoints"
      rows={rows}
      textOf={({ name, id, url, state }) => `${name} ${id} ${url} ${state}`}
      example="Name, host, id or state"
    >
      {(found) => <EndpointTable rows={found} onOpen={onOpen} />}
    </SearchedRows>
  )
}

function EndpointTable({ rows, onOpen }: ListProps) {
  return (
    <Table
      label="Endpoints"
      file="endpoints"
      rows={rows}
      keyOf={({ id }) => id}
      columns={[
        {
          title: 'Name',
          cell: ({ id, name }) => (
            <a class="breaks" href={toHash('webhooks', id)}>
              {name}
            </a>
          ),
        },
        { title: 'Host', cell: ({ url }) => <span class="breaks">{new URL(url).host}</span> },
        { title: 'State', cell: ({ state }) => <EndpointState state={state} /> },
        { title: 'Events', cell: ({ events }) => toCount(events.length), isNumber: true },
        { title: 'Waiting', cell: ({ pending }) => toCount(pending), isNumber: true },
        { title: '', cell: (row) => <EndpointActions row={row} onOpen={onOpen} /> },
      ]}
    />
  )
}
