import type { RequestView } from '../../../src/admin/shapes/requests.ts'
import { toMs, toOperation, toWords } from '../format.ts'
import { requestsTexts as texts } from '../texts/en/requests.ts'
import { Pill, type Tone } from './pill.tsx'
import { Table } from './table.tsx'
import { When } from './when.tsx'

type RequestRowsProps = {
  readonly rows: readonly RequestView[]
  readonly onOpen: (request: RequestView) => void
}

export function RequestRows({ rows, onOpen }: RequestRowsProps) {
  return (
    <Table
      label={texts.list}
      rows={rows}
      keyOf={({ row }) => row}
      columns={[
        { title: texts.time, cell: ({ time }) => <When at={time} to="second" /> },
        {
          title: texts.status,
          cell: (request) => (
            <>
              <StatusPill request={request} /> <small class="dim">{request.fields.join(', ')}</small>
            </>
          ),
        },
        {
          title: texts.operation,
          cell: ({ operation }) => <span class="nowrap">{toOperationText(operation)}</span>,
        },
        { title: texts.key, cell: (request) => <KeyText {...request} /> },
        { title: texts.duration, isNumber: true, cell: ({ duration_ms }) => toMs(duration_ms) },
        {
          title: texts.requestId,
          cell: (request) => (
            <button
              type="button"
              class="link"
              aria-label={texts.toDetailsLabel(request.request_id)}
              onClick={() => onOpen(request)}
            >
              <code class="clip">{request.request_id}</code>
            </button>
          ),
        },
      ]}
    />
  )
}

export const toOperationText = (operation: string) =>
  operation === 'unknown' ? texts.unknownOperation : toOperation(operation)

export function StatusPill({ request: { status, code } }: { request: RequestView }) {
  if (status === 0) return <Pill tone="warn">{texts.brokenOff}</Pill>
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

export function KeyText({ key_id: id, key_name: name }: Pick<RequestView, 'key_id' | 'key_name'>) {
  return (
    <>
      {name !== null && <span class="clip">{name}</span>} <code>{id}</code>
    </>
  )
}
