import { HOUR_MS } from '../contract/time.ts'

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

/** No value has a tab or a line break. */
export const toKindText = ({ keyId, mode, operation, method, status, code }: RequestKind): string =>
  `${keyId}\t${mode}\t${operation}\t${method}\t${status}\t${code}`

export const toCountLine = (kindText: string, count: number): string => `${kindText}\t${count}\n`

/** Times of requests are stored relative to it. */
export const toHourStart = (at: number): number => at - (at % HOUR_MS)

/** In the order of the lines, by which requests name their kinds. */
export const parseCounts = (counts: string): KindCount[] =>
  counts
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [keyId = '', mode = '', operation = '', method = '', status, code = '', count] = line.split('\t')
      return { keyId, mode, operation, method, status: Number(status), code, count: Number(count) }
    })
