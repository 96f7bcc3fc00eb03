import { useState } from 'preact/hooks'
import type { CreatedEndpoint, Endpoint, Endpoints } from '../../../../src/admin/webhooks.ts'
import { useHasRole } from '../../app-context.ts'
import { Panel } from '../../components/panel.tsx'
import { Pill } from '../../components/pill.tsx'
import { Empty, QueryResult } from '../../components/query-result.tsx'
import { ShownOnce } from '../../components/shown-once.tsx'
import { Table } from '../../components/table.tsx'
import { toCount } from '../../format.ts'
import { useQuery } from '../../use-query.ts'
import { CreateEndpointDialog } from './create-endpoint-dialog.tsx'
import { DeliveriesDialog } from './deliveries-dialog.tsx'
import {
  DeleteEndpointDialog,
  EndpointDialog,
  RollSecretDialog,
  SwitchEndpointDialog,
  TestEndpointDialog,
} from './endpoint-dialogs.tsx'

type RowAction = 'facts' | 'test' | 'roll' | 'switch' | 'delete' | 'deliveries'
type OpenRow = { readonly what: RowAction; readonly row: Endpoint }
type Open = { readonly what: 'new' } | { readonly what: 'secret'; readonly secret: string } | OpenRow

export function Webhooks() {
  const query = useQuery<Endpoints>('/admin/webhooks')
  const isOperator = useHasRole('operator')
  const [open, setOpen] = useState<Open>()
  const close = () => setOpen(undefined)
  const finish = ({ secret }: CreatedEndpoint) => {
    setOpen({ what: 'secret', secret })
    query.reload()
  }
  const done = () => {
    close()
    query.reload()
  }
  return (
    <>
      <p class="dim">
        Endpoints are told of events by signed requests, without personal data. See docs/webhooks.md.
      </p>
      <Panel
        title="Endpoints"
        aside={
          isOperator &&
          query.value && (
            <button type="button" class="main push" onClick={() => setOpen({ what: 'new' })}>
              Create endpoint
            </button>
          )
        }
      >
        <QueryResult query={query}>
          {({ endpoints }) => <EndpointList rows={endpoints} onOpen={setOpen} />}
        </QueryResult>
      </Panel>
      {open?.what === 'new' && query.value && (
        <CreateEndpointDialog endpoints={query.value} onClose={close} onCreated={finish} />
      )}
      {open?.what === 'secret' && (
        <ShownOnce title="Secret of the endpoint" what="the secret" text={open.secret} onClose={close}>
          Copy the secret now, and give it to the receiver. It is not shown again.
        </ShownOnce>
      )}
      {open && 'row' in open && <RowDialog open={open} onClose={close} onDone={done} onSecret={finish} />}
    </>
  )
}

type RowDialogProps = {
  readonly open: OpenRow
  readonly onClose: () => void
  readonly onDone: () => void
  readonly onSecret: (created: CreatedEndpoint) => void
}

function RowDialog({ open: { what, row }, onClose, onDone, onSecret }: RowDialogProps) {
  if (what === 'test') return <TestEndpointDialog row={row} onClose={onClose} />
  if (what === 'roll') return <RollSecretDialog row={row} onClose={onClose} onCreated={onSecret} />
  if (what === 'switch') return <SwitchEndpointDialog row={row} onClose={onClose} onDone={onDone} />
  if (what === 'delete') return <DeleteEndpointDialog row={row} onClose={onClose} onDone={onDone} />
  if (what === 'deliveries') return <DeliveriesDialog row={row} onClose={onClose} />
  return <EndpointDialog row={row} onClose={onClose} />
}

const TONES = { active: 'good', failing: 'warn', disabled: 'bad' } as const

type ListProps = { readonly rows: readonly Endpoint[]; readonly onOpen: (open: OpenRow) => void }

function EndpointList({ rows, onOpen }: ListProps) {
  if (rows.length === 0)
    return (
      <Empty>
        <p>There are no endpoints yet. Create one to be told when a vendor is down or its cap is near.</p>
      </Empty>
    )
  return (
    <Table
      label="Endpoints"
      rows={rows}
      keyOf={({ id }) => id}
      columns={[
        {
          title: 'Name',
          cell: (row) => (
            <button type="button" class="link" onClick={() => onOpen({ what: 'facts', row })}>
              {row.name}
            </button>
          ),
        },
        { title: 'Host', cell: ({ url }) => <span class="breaks">{new URL(url).host}</span> },
        { title: 'State', cell: ({ state }) => <Pill tone={TONES[state]}>{state}</Pill> },
        { title: 'Events', cell: ({ events }) => toCount(events.length), isNumber: true },
        { title: 'Waiting', cell: ({ pending }) => toCount(pending), isNumber: true },
        { title: '', cell: (row) => <EndpointActions row={row} onOpen={onOpen} /> },
      ]}
    />
  )
}

function EndpointActions({ row, onOpen }: { row: Endpoint; onOpen: (open: OpenRow) => void }) {
  const isOperator = useHasRole('operator')
  const actions: readonly (readonly [RowAction, string])[] = [
    ['deliveries', 'Deliveries'],
    ...(isOperator
      ? ([
          ['test', 'Test'],
          ['roll', 'Roll'],
          ['switch', row.state === 'disabled' ? 'Enable' : 'Disable'],
          ['delete', 'Delete'],
        ] as const)
      : []),
  ]
  return (
    <span class="actions">
      {actions.map(([what, text]) => (
        <button
          key={what}
          type="button"
          class="small"
          aria-label={`${text} ${row.name}`}
          onClick={() => onOpen({ what, row })}
        >
          {text}
        </button>
      ))}
    </span>
  )
}
