import type { IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import type { BatchPosition } from '../batches/batch-table.ts'
import { BatchView } from '../batches/batch-view.ts'
import { AdminError } from '../contract/error.ts'
import { type Static, Type } from '../contract/schema.ts'
import { AppError } from '../errors.ts'
import { readBodyPieces } from '../http/body.ts'
import { openLocally } from '../http/local-request.ts'
import { hasPublicSandboxKey } from '../keys/sandbox-key.ts'
import { BATCHES_PATH } from '../operations/batch-path.ts'
import type { AdminDeps } from './admin-deps.ts'
import { toCsvFile } from './export-file.ts'
import { Cursor, readCursor, strict, toCursor } from './fields.ts'
import { type AdminRoute, defineRoute, WithHeaders } from './route.ts'
import { readTryKey, toBaseUrl } from './try.ts'

const ListedBatch = Type.Object({ ...BatchView.properties, key_id: Type.String() })
export type ListedBatch = Static<typeof ListedBatch>

export const BatchList = Type.Object({
  batches: Type.Array(ListedBatch),
  /** Cursor of the next page; null at the end. */
  next: Type.Nullable(Type.String()),
  /** The public sandbox key works here. */
  has_sandbox_key: Type.Boolean(),
})
export type BatchList = Static<typeof BatchList>

export const OneBatch = Type.Object({ batch: ListedBatch, has_sandbox_key: Type.Boolean() })
export type OneBatch = Static<typeof OneBatch>

/** The answer of the public API to an upload. */
export const UploadResult = Type.Object({ status: Type.Integer(), body: Type.Unsafe<unknown>({}) })
export type UploadResult = Static<typeof UploadResult>

const BatchQuery = Type.Object({ before: Type.Optional(Cursor) }, strict)

const ResultsRequest = Type.Object(
  {
    /** Absent: the public sandbox key. */
    key: Type.Optional(Type.String({ maxLength: 200 })),
  },
  strict,
)

const tag = 'Batches'
const MAX_LISTED = 50

const list = defineRoute({
  name: 'list_batches',
  tag,
  method: 'GET',
  path: '/admin/batches',
  summary:
    'Batches of all keys, with their counts. Newest first; `before` takes the `next` of an earlier page.',
  role: 'viewer',
  input: BatchQuery,
  output: BatchList,
  run: async (deps, { input: { before } }) => {
    const { rows, next } = await readPage(deps, readCursor(before, toPosition))
    return {
      batches: rows,
      next: next ? toCursor(next.createdAt, next.id) : null,
      has_sandbox_key: hasPublicSandboxKey(deps.context.config),
    }
  },
})

async function readPage({ context: { batches } }: AdminDeps, before: BatchPosition | undefined) {
  const found = await batches.list(before, MAX_LISTED)
  return {
    rows: found.map((batch) => ({ ...batches.toView(batch), key_id: batch.keyId })),
    next: found.length === MAX_LISTED ? found.at(-1) : undefined,
  }
}

const toPosition = ([createdAt, id]: readonly unknown[]): BatchPosition | undefined =>
  Number.isSafeInteger(createdAt) && typeof id === 'string'
    ? { createdAt: createdAt as number, id }
    : undefined

const toCount = (name: keyof ListedBatch['counts']) => (batch: ListedBatch) => batch.counts[name]

const exportBatches = defineRoute({
  name: 'export_batches',
  tag,
  method: 'GET',
  path: '/admin/batches/export.csv',
  summary: 'Batches of all keys as CSV, with their counts, newest first.',
  role: 'viewer',
  stream: 'text/csv',
  output: Type.String(),
  run: async (deps) =>
    toCsvFile<ListedBatch, BatchPosition>({
      title: 'batches',
      columns: {
        id: ({ id }) => id,
        accepted_at: ({ accepted_at }) => accepted_at,
        ended_at: ({ ended_at }) => ended_at,
        key_id: ({ key_id }) => key_id,
        mode: ({ mode }) => mode,
        state: ({ state }) => state,
        rows: ({ rows }) => rows,
        verified: toCount('verified'),
        not_verified: toCount('not_verified'),
        failed: toCount('failed'),
        expired: toCount('expired'),
        cancelled: toCount('cancelled'),
        refused: toCount('refused'),
        waiting: toCount('waiting'),
      },
      readPage: (before) => readPage(deps, before),
    }),
})

const read = defineRoute({
  name: 'read_batch',
  tag,
  method: 'GET',
  path: '/admin/batches/:id',
  summary: 'One batch, with its counts.',
  role: 'viewer',
  output: OneBatch,
  run: async ({ context: { batches, config } }, { params }) => {
    const batch = await findBatch(batches.find(params.id ?? ''))
    return {
      batch: { ...batches.toView(batch), key_id: batch.keyId },
      has_sandbox_key: hasPublicSandboxKey(config),
    }
  },
})

const upload = defineRoute({
  name: 'upload_batch',
  tag,
  method: 'POST',
  path: '/admin/batches',
  summary:
    'Send a file (text/csv, application/x-ndjson or application/json) to the public API, with the key in X-Api-Key or the public sandbox key. Audited with the key and the account.',
  role: 'operator',
  isUpload: true,
  output: UploadResult,
  run: async (deps, { exchange, actor }) => {
    const key = readTryKey(deps.context, toText(exchange.headers['x-api-key']))
    const response = await openLocally(deps.api, {
      method: 'POST',
      path: BATCHES_PATH,
      headers: { ...toHeaders(deps, key), 'content-type': toText(exchange.headers['content-type']) ?? '' },
      pieces: readBodyPieces(exchange),
      address: deps.addresses.callerOf(exchange),
      account: actor.name,
    })
    return { status: response.statusCode ?? 0, body: JSON.parse(await text(response)) as unknown }
  },
})

const cancel = defineRoute({
  name: 'cancel_batch',
  tag,
  method: 'POST',
  path: '/admin/batches/:id/cancel',
  summary: 'Cancel the rows of a batch that have not begun.',
  role: 'operator',
  output: BatchView,
  run: async ({ context: { batches } }, { params, actor }) => {
    const find = () => findBatch(batches.find(params.id ?? ''))
    const batch = await find()
    await batches.stop(batch, { key_id: batch.keyId, mode: batch.mode, detail: `by ${actor.name}` })
    return batches.toView(await find())
  },
})

const readResults = defineRoute({
  name: 'read_batch_results',
  tag,
  method: 'POST',
  path: '/admin/batches/:id/results',
  summary:
    'The results of a batch as CSV, read with the key that sent it. Audited with the key and the account.',
  role: 'operator',
  input: ResultsRequest,
  stream: 'text/csv',
  output: Type.String(),
  run: async (deps, { input, params, exchange, actor }) => {
    const id = encodeURIComponent(params.id ?? '')
    const response = await openLocally(deps.api, {
      method: 'GET',
      path: `${BATCHES_PATH}/${id}/results`,
      headers: { ...toHeaders(deps, readTryKey(deps.context, input.key)), accept: 'text/csv' },
      address: deps.addresses.callerOf(exchange),
      account: actor.name,
    })
    if (response.statusCode !== 200) throw await toRefusal(response)
    const headers = ['content-disposition', `attachment; filename="${id}.csv"`]
    return new WithHeaders(response.setEncoding('utf8') as AsyncIterable<string>, headers)
  },
})

const toText = (header: string | string[] | undefined) => (Array.isArray(header) ? header.join(',') : header)

/** The host stands in the links to pictures. */
const toHeaders = (deps: AdminDeps, key: string) => ({
  authorization: `Bearer ${key}`,
  host: new URL(toBaseUrl(deps)).host,
})

async function findBatch<T>(finding: Promise<T | undefined>): Promise<T> {
  const found = await finding
  if (!found) throw new AppError('not_found')
  return found
}

async function toRefusal(response: IncomingMessage): Promise<Error> {
  const { message } = JSON.parse(await text(response)) as { message?: string }
  if (response.statusCode === 401) return new AdminError('refused', { message: 'This key is not accepted.' })
  if (response.statusCode === 404)
    return new AdminError('refused', {
      message: 'This batch was sent with another key, or is no longer kept.',
    })
  return new AdminError('refused', { message: message ?? '' })
}

export const BATCH_ROUTES: readonly AdminRoute[] = [list, exportBatches, read, upload, cancel, readResults]
