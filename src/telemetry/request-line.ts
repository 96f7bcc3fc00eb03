/** One line a request. Nothing else of a request reaches the log: no address, header, query or body. */
export type RequestLine = {
  readonly requestId: string
  /** Made by this server. */
  readonly isOwnId: boolean
  readonly operation: string
  readonly mode: string
  readonly keyId: string
  readonly status: number
  readonly outcome: string
  readonly durationMs: number
  /** Absent unless requests are traced. */
  readonly traceId?: string | undefined
}

/**
 * Prints the lines of requests, without JSON.stringify: nothing in them needs escaping, and every request pays for its line.
 * Requests of one operation mostly have the same key and outcome, so the text between id and duration is kept for the next.
 */
export function createPrintRequest(): (line: RequestLine, time: string, loggedId: string) => string {
  const last = new Map<string, { readonly line: RequestLine; readonly text: string }>()
  const print = (line: RequestLine) => {
    const { operation, mode, keyId, status, outcome } = line
    const text =
      `","operation":"${operation}","mode":"${mode}","key_id":"${keyId}",` +
      `"status":${status},"outcome":"${outcome}","duration_ms":`
    last.set(operation, { line, text })
    return text
  }
  return (line, time, loggedId) => {
    const known = last.get(line.operation)
    const text = known && isAlike(known.line, line) ? known.text : print(line)
    const end = line.traceId === undefined ? '}\n' : `,"trace_id":"${line.traceId}"}\n`
    return `{"level":30,"time":"${time}","event":"request","request_id":"${loggedId}${text}${line.durationMs}${end}`
  }
}

const isAlike = (a: RequestLine, b: RequestLine) =>
  a.keyId === b.keyId && a.outcome === b.outcome && a.status === b.status && a.mode === b.mode
