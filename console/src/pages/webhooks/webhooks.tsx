import { useState } from 'preact/hooks'
import type { CreatedEndpoint, Deliveries, Endpoint, Endpoints } from '../../../../src/admin/webhooks.ts'
import { useAppContext, useHasRole } from '../../app-context.ts'
import { Dialog } from '../../components/dialog.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { OlderPages } from '../../components/older-pages.tsx'
import { Panel } from '../../components/panel.tsx'
import { Pill } from '../../components/pill.tsx'
import { Empty, QueryResult } from '../../components/query-result.tsx'
import { SearchedRows } from '../../components/searched-rows.tsx'
import { ShownOnce } from '../../components/shown-once.tsx'
import { Table } from '../../components/table.tsx'
import { When } from '../../components/when.tsx'
import { toCount, toMs, toWords } from '../../format.ts'
import { useMutation } from '../../use-mutation.ts'
import { useQuery } from '../../use-query.ts'
import {
  CreateEndpointDialog,
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

type Delivery = Deliveries['deliveries'][number]

const DELIVERY_TONES = { delivered: 'good', pending: 'warn', failed: 'bad' } as const

function DeliveriesDialog({ row, onClose }: { row: Endpoint; onClose: () => void }) {
  const { api } = useAppContext()
  const [before, setBefore] = useState<string>()
  const path = `/admin/webhooks/${encodeURIComponent(row.id)}/deliveries`
  const query = useQuery<Deliveries>(
    before === undefined ? path : `${path}?before=${encodeURIComponent(before)}`,
  )
  const resend = useMutation(async (event: string) => {
    await api.post(`${path}/${encodeURIComponent(event)}/resend`)
    query.reload()
  })
  return (
    <Dialog title={`Deliveries of ${row.name}`} onClose={onClose} isWide>
      <ErrorNote error={resend.error} />
      <QueryResult query={query}>
        {({ deliveries, next }) => (
          <>
            <DeliveryTable rows={deliveries} onResend={resend.run} isBusy={resend.isBusy} />
            <OlderPages before={before} next={next} onPage={setBefore} />
            <footer>
              <button type="button" class="plain" onClick={query.reload}>
                Reload
              </button>
            </footer>
          </>
        )}
      </QueryResult>
    </Dialog>
  )
}

type TableProps = {
  readonly rows: readonly Delivery[]
  readonly onResend: (event: string) => void
  readonly isBusy: boolean
}

function DeliveryTable({ rows, onResend, isBusy }: TableProps) {
  const isOperator = useHasRole('operator')
  if (rows.length === 0)
    return (
      <Empty>
        <p>Nothing was sent to this endpoint.</p>
      </Empty>
    )
  return (
    <Table
      label="Deliveries"
      file="deliveries"
      rows={rows}
      keyOf={({ event_id }) => event_id}
      columns={[
        { title: 'Event', cell: ({ type }) => <code class="breaks">{type}</code> },
        { title: 'Reference', cell: ({ reference }) => <span class="breaks">{reference}</span> },
        { title: 'State', cell: ({ state }) => <Pill tone={DELIVERY_TONES[state]}>{state}</Pill> },
        { title: 'Attempts', cell: ({ attempts }) => attempts.length, isNumber: true },
        { title: 'Last response', cell: toLastResponse },
        {
          title: 'Next or finished',
          cell: ({ next_attempt_at, finished_at }) => (
            <When at={next_attempt_at ?? finished_at} to="second" />
          ),
        },
        {
          title: '',
          cell: ({ event_id, type }) =>
            isOperator && (
              <button
                type="button"
                class="small"
                aria-label={`Resend ${type} ${event_id}`}
                disabled={isBusy}
                onClick={() => onResend(event_id)}
              >
                Resend
              </button>
            ),
        },
      ]}
    />
  )
}

function toLastResponse({ attempts }: Delivery) {
  const last = attempts.at(-1)
  if (!last) return '–'
  return `${last.status ?? toWords(last.problem ?? '')}, ${toMs(last.duration_ms)}`
}
