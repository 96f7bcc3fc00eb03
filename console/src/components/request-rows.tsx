import type { RequestView } from '../../../src/admin/requests.ts'
import { toMs, toOperation, toWords } from '../format.ts'
import { toHash } from '../hash.ts'
import { KeyLink } from './object-page.tsx'
import { Pill, type Tone } from './pill.tsx'
import { Table } from './table.tsx'
import { When } from './when.tsx'

type RequestRowsProps = {
  readonly rows: readonly RequestView[]
  /** The filters of the list, as in the address. */
  readonly query: string
}

export function RequestRows({ rows, query }: RequestRowsProps) {
  return (
    <Table
      label="Requests, newest first"
      exportUrl={`/admin/requests/export.csv?${query}`}
      isGrowing
      rows={rows}
      keyOf={({ row }) => row}
      columns={[
        { title: 'Time', cell: ({ time }) => <When at={time} to="second" /> },
        {
          title: 'Status',
          cell: (request) => (
            <>
              <StatusPill request={request} /> <small class="dim">{request.fields.join(', ')}</small>
            </>
          ),
        },
        {
          title: 'Operation',
          cell: ({ operation }) => <span class="nowrap">{toOperationText(operation)}</span>,
        },
        { title: 'Key', cell: (request) => <RequestKey request={request} /> },
        { title: 'Duration', isNumber: true, cell: ({ duration_ms }) => toMs(duration_ms) },
        {
          title: 'Request id',
          cell: ({ request_id: id }) => (
            <a href={toHash('requests', id)} aria-label={`Details of ${id}`}>
              <code class="clip">{id}</code>
            </a>
          ),
        },
      ]}
    />
  )
}

export const NotRecorded = () => (
  <div class="note warn">
    <p>
      The request log is off. Set <code>TABBAT_REQUESTS_KEEP</code> to a time, for example 7d, and restart the
      server.
    </p>
  </div>
)

export const toOperationText = (operation: string) =>
  operation === 'unknown' ? 'Unknown address' : toOperation(operation)

export function StatusPill({ request: { status, code } }: { request: RequestView }) {
  if (status === 0) return <Pill tone="warn">Broken off</Pill>
  return (
    <Pill tone={toTone(status, code)}>
      {status} {toWords(code)}
    </Pill>
  )
}

function toTone(status: number, code: string): Tone {
  if (status < 400) return 'good'
  return status < 500 || code === 'not_verified' ? 'warn' : 'bad'
}

/** A request without a valid key has none. */
const RequestKey = ({ request: { key_id: id, key_name: name } }: { request: RequestView }) =>
  id === '' ? <span class="dim">–</span> : <KeyLink id={id} name={name} />
