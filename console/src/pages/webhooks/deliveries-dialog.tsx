import { useState } from 'preact/hooks'
import type { Deliveries, Endpoint } from '../../../../src/admin/webhooks.ts'
import { useAppContext, useHasRole } from '../../app-context.ts'
import { Dialog } from '../../components/dialog.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { Pill } from '../../components/pill.tsx'
import { Empty, QueryResult } from '../../components/query-result.tsx'
import { Table } from '../../components/table.tsx'
import { When } from '../../components/when.tsx'
import { toMs, toWords } from '../../format.ts'
import { useMutation } from '../../use-mutation.ts'
import { useQuery } from '../../use-query.ts'

type Delivery = Deliveries['deliveries'][number]

const TONES = { delivered: 'good', pending: 'warn', failed: 'bad' } as const

export function DeliveriesDialog({ row, onClose }: { row: Endpoint; onClose: () => void }) {
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
            <footer>
              {before !== undefined && (
                <button type="button" class="plain" onClick={() => setBefore(undefined)}>
                  Newest
                </button>
              )}
              {next !== null && (
                <button type="button" class="plain" onClick={() => setBefore(next)}>
                  Older
                </button>
              )}
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
      rows={rows}
      keyOf={({ event_id }) => event_id}
      columns={[
        { title: 'Event', cell: ({ type }) => <code class="breaks">{type}</code> },
        { title: 'Reference', cell: ({ reference }) => <span class="breaks">{reference}</span> },
        { title: 'State', cell: ({ state }) => <Pill tone={TONES[state]}>{state}</Pill> },
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
