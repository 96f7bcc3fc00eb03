import { setTimeout as pause } from 'node:timers/promises'
import type { BatchFormat } from '../../batches/read-rows.ts'
import type { Kind } from '../../crypto/blind-index.ts'
import { UserError } from '../../errors.ts'
import { type ApiAnswer, type ApiClient, type ApiRequest, readAnswer, toApiError } from './api-client.ts'
import { readFileRows, toApiRow } from './input-file.ts'
import type { SentPart } from './state-file.ts'

export type VerifiedFile = { readonly path: string; readonly kind: Kind; readonly format: BatchFormat }

/** A batch as the API shows it. */
export type BatchView = {
  readonly id: string
  readonly state: 'running' | 'stopping' | 'completed' | 'cancelled'
  readonly rows: number
  readonly counts: Readonly<Record<string, number>>
  readonly estimated_end: string | null
}

const BATCHES = '/api/v2/kyc/batches'
export const toBatchPath = (id: string) => `${BATCHES}/${id}`

/** Sends a part of the file, and returns the batch. Sent again, it is the same batch. */
export async function sendPart(
  client: ApiClient,
  file: VerifiedFile,
  part: SentPart,
  signal: AbortSignal,
): Promise<string> {
  const { status, body } = await sendUntilAnswered(client, () => ({
    method: 'POST',
    path: BATCHES,
    headers: { 'content-type': 'application/x-ndjson', 'idempotency-key': part.idempotencyKey },
    body: toNdjson(file, part),
    signal,
  }))
  const id = (body as { data?: { id?: unknown } } | undefined)?.data?.id
  if (status !== 202 || typeof id !== 'string') throw toApiError({ status, body, headers: {} }, client.server)
  return id
}

/** Each row on the line that it has in the file, counted from the first line of the part. */
async function* toNdjson({ path, kind, format }: VerifiedFile, part: SentPart): AsyncGenerator<string> {
  let line = part.firstLine
  for await (const row of readFileRows(path, kind, format)) {
    if (row.line > part.lastLine) return
    if (row.line < part.firstLine || !('fields' in row)) continue
    yield `${'\n'.repeat(row.line - line)}${JSON.stringify(toApiRow(kind, row.fields))}`
    line = row.line
  }
}

const POLL_MS = 1000

/** Waits until all rows have ended. */
export async function waitForBatch(
  client: ApiClient,
  id: string,
  signal: AbortSignal,
  onProgress: (batch: BatchView) => void,
): Promise<BatchView> {
  for (;;) {
    const answer = await sendUntilAnswered(client, () => ({ method: 'GET', path: toBatchPath(id), signal }))
    if (answer.status === 404)
      throw new UserError(
        `${client.server} does not have the batch ${id} any more. Delete the state file to start from the beginning.`,
      )
    if (answer.status !== 200) throw toApiError(answer, client.server)
    const { data } = answer.body as { data: BatchView }
    onProgress(data)
    if (data.state === 'completed' || data.state === 'cancelled') return data
    await pause(POLL_MS, undefined, { signal })
  }
}

const MOST_TRIES = 8
const FIRST_PAUSE_MS = 500
const LONGEST_PAUSE_MS = 30_000
/** The server is busy, or a proxy cannot reach it. */
const AGAIN: readonly number[] = [408, 409, 429, 502, 503, 504]

/** Sends a request again while the server cannot be reached or is busy. All requests of a run may be repeated. */
async function sendUntilAnswered(client: ApiClient, toRequest: () => ApiRequest): Promise<ApiAnswer> {
  for (let tries = 1; ; tries++) {
    const request = toRequest()
    const answer = await client
      .send(request)
      .then(readAnswer)
      .catch((error: NodeJS.ErrnoException) => {
        if (request.signal.aborted || tries >= MOST_TRIES) throw toNetworkError(client, error)
        return undefined
      })
    if (answer && (!AGAIN.includes(answer.status) || tries >= MOST_TRIES)) return answer
    const wait = Math.min(FIRST_PAUSE_MS * 2 ** (tries - 1), LONGEST_PAUSE_MS)
    const asked = Number(answer?.headers['retry-after'] ?? 0) * 1000
    await pause(Math.max(wait, Math.min(asked, 2 * LONGEST_PAUSE_MS)), undefined, { signal: request.signal })
  }
}

export const toNetworkError = ({ server }: ApiClient, error: NodeJS.ErrnoException): unknown =>
  error instanceof UserError || error.name === 'AbortError'
    ? error
    : new UserError(
        `${server} cannot be reached (${error.code ?? 'no answer'}). Run the same command again to continue.`,
      )
