import { HOUR_MS } from '../contract/time.ts'
import type { BlockHead } from '../store/request-table.ts'

/** What the request log has about one request: no address, header, query, body or value of a field. */
export type LoggedRequest = {
  /** Unique: the process and its number of the request. */
  readonly row: string
  /** When it was answered, or broken off. */
  readonly at: number
  /** As it is stored; see stored-id.ts. */
  readonly requestId: string
  /** Empty where there is none. */
  readonly reference: string
  readonly keyId: string
  readonly mode: string
  readonly operation: string
  readonly method: string
  /** 0: the caller closed the connection before the response. */
  readonly status: number
  /** The error code, `ok`, or the outcome of a verification. */
  readonly code: string
  readonly durationMs: number
  /** The names of the wrong fields of a 422. */
  readonly fields: readonly string[]
}

/** What requests are counted by. */
export type RequestKind = Pick<LoggedRequest, 'keyId' | 'mode' | 'operation' | 'method' | 'status' | 'code'>

export type KindCount = RequestKind & { readonly count: number }

export const toKindText = ({ keyId, mode, operation, method, status, code }: RequestKind): string =>
  `${keyId}\t${mode}\t${operation}\t${method}\t${status}\t${code}`

export const toCountLine = (kindText: string, count: number): string => `${kindText}\t${count}\n`

/** Times of lines are relative to it, which is cheaper to print. */
export const toHourStart = (at: number): number => at - (at % HOUR_MS)

/** As text: number, time, id, reference, kind, microseconds, fields. No value has a tab or a line break. */
export function parseLine(head: Pick<BlockHead, 'owner' | 'fromAt'>, line: string): LoggedRequest {
  const [number, after, requestId = '', reference = '', ...rest] = line.split('\t')
  const [micros, fields] = rest.slice(6)
  return {
    row: `${head.owner}/${number}`,
    at: toHourStart(head.fromAt) + Number(after),
    requestId,
    reference,
    ...parseKind(rest),
    durationMs: Number(micros) / 1000,
    fields: fields ? fields.split(',') : [],
  }
}

export const parseCounts = (counts: string): KindCount[] =>
  counts
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const parts = line.split('\t')
      return { ...parseKind(parts), count: Number(parts[6]) }
    })

const parseKind = ([keyId = '', mode = '', operation = '', method = '', status, code = '']: string[]) => ({
  ...{ keyId, mode, operation, method, status: Number(status), code },
})
