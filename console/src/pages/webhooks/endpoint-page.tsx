import { useState } from 'preact/hooks'
import type { Deliveries, Endpoint, EndpointReport } from '../../../../src/admin/webhooks.ts'
import { useAppContext, useHasRole } from '../../app-context.ts'
import { CodeBlock } from '../../components/copy.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { Facts } from '../../components/facts.tsx'
import { KeyLink, ObjectPage, Reference } from '../../components/object-page.tsx'
import { OlderPages } from '../../components/older-pages.tsx'
import { Panel } from '../../components/panel.tsx'
import { Pill } from '../../components/pill.tsx'
import { Empty, QueryResult } from '../../components/query-result.tsx'
import { StepBars } from '../../components/step-bars.tsx'
import { Table } from '../../components/table.tsx'
import { When } from '../../components/when.tsx'
import { toCount, toMs, toWords } from '../../format.ts'
import { useMutation } from '../../use-mutation.ts'
import { useQuery } from '../../use-query.ts'
import { EndpointActions, EndpointState, type OpenRow, RowDialogs } from './endpoint-actions.tsx'

/** One endpoint: how its deliveries went, what was sent, and what can be sent again. */
export function EndpointPage({ id }: { id: string }) {
  const query = useQuery<EndpointReport>(`/admin/webhooks/${encodeURIComponent(id)}`)
  const [open, setOpen] = useState<OpenRow>()
  const [changes, setChanges] = useState(0)
  const onChanged = () => {
    query.reload()
    // The deliveries are read again, from the newest.
    setChanges((count) => count + 1)
  }
  return (
    <>
      <ObjectPage
        list="webhooks"
        listTitle="endpoints"
        name={id}
        query={query}
        missing={<p>There is no endpoint with this id. It may have been deleted.</p>}
      >
        {({ endpoint, hours }) => (
          <>
            <Panel
              title={<span class="breaks">{endpoint.name}</span>}
              aside={
                <div class="bar push">
                  <EndpointState state={endpoint.state} />
                  <EndpointActions row={endpoint} onOpen={setOpen} />
                </div>
              }
            >
              <Facts facts={toFacts(endpoint)} />
            </Panel>
            <Panel title="Attempts of the last two days, by hour">
              <StepBars
                label={`Attempts to ${endpoint.name}`}
                words={['delivered', 'failed']}
                steps={hours.map(({ at, delivered, failed }) => ({ at, good: delivered, bad: failed }))}
              />
            </Panel>
            <DeliveryPanel key={changes} row={endpoint} onChanged={query.reload} />
          </>
        )}
      </ObjectPage>
      {open && <RowDialogs open={open} onOpen={setOpen} onChanged={onChanged} />}
    </>
  )
}

const REASONS = {
  operator: 'by an operator',
  gone: 'the receiver answered 410',
  failing: 'the receiver failed for five days',
} as const

const toFacts = (row: Endpoint): Parameters<typeof Facts>[0]['facts'] => [
  [
    'Address',
    <span key="url" class="breaks">
      {row.url}
    </span>,
  ],
  ['State', row.disabled_reason ? `${row.state}: ${REASONS[row.disabled_reason]}` : row.state],
  ['Waiting', toCount(row.pending)],
  ['Events', row.events.join(', ')],
  [
    'Keys',
    row.keys.length === 0
      ? 'all: it belongs to the operator'
      : row.keys.map((key) => <KeyLink key={key} id={key} />),
  ],
  ['Created', <When key="created" at={row.created_at} />],
  ['Failing since', <When key="failing" at={row.failing_since} otherwise="it does not fail" />],
  ['Old secret signs until', <When key="old" at={row.old_secret_until} otherwise="never rolled" />],
]

type Delivery = Deliveries['deliveries'][number]
type PanelProps = { readonly row: Endpoint; readonly onChanged: () => void }

function DeliveryPanel({ row, onChanged }: PanelProps) {
  const { api } = useAppContext()
  const [before, setBefore] = useState<string>()
  const path = `/admin/webhooks/${encodeURIComponent(row.id)}`
  const older = before === undefined ? '' : `?before=${encodeURIComponent(before)}`
  const query = useQuery<Deliveries>(`${path}/deliveries${older}`)
  const reload = () => {
    query.reload()
    onChanged()
  }
  const resend = useMutation(async (event: string) => {
    await api.post(`${path}/deliveries/${encodeURIComponent(event)}/resend`)
    reload()
  })
  return (
    <Panel
      title="Deliveries, newest first"
      aside={
        <button type="button" class="small push" onClick={reload}>
          Reload
        </button>
      }
    >
      <ErrorNote error={resend.error} />
      <QueryResult query={query}>
        {({ deliveries, next }) => (
          <>
            <DeliveryTable
              rows={deliveries}
              onResend={resend.run}
              isBusy={resend.isBusy}
              exportUrl={`${path}/deliveries.csv`}
            />
            <OlderPages before={before} next={next} onPage={setBefore} />
          </>
        )}
      </QueryResult>
    </Panel>
  )
}

const toReadable = (body: string) => JSON.stringify(JSON.parse(body), null, 2)

const DELIVERY_TONES = { delivered: 'good', pending: 'warn', failed: 'bad' } as const

type TableProps = {
  readonly rows: readonly Delivery[]
  readonly onResend: (event: string) => void
  readonly isBusy: boolean
  readonly exportUrl: string
}

function DeliveryTable({ rows, onResend, isBusy, exportUrl }: TableProps) {
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
      exportUrl={exportUrl}
      rows={rows}
      keyOf={({ event_id }) => event_id}
      columns={[
        {
          title: 'Event',
          cell: ({ type, body }) => (
            <details>
              <summary>
                <code class="breaks">{type}</code>
              </summary>
              <CodeBlock text={toReadable(body)} what={`the payload of ${type}`} />
            </details>
          ),
        },
        { title: 'Reference', cell: ({ reference }) => <Reference text={reference} /> },
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
