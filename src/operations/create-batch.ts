import type { RowRefusal } from '../batches/batch-row.ts'
import type { BatchView } from '../batches/batch-view.ts'
import { BatchRowRequest, NewBatchResponse } from '../batches/batch-view.ts'
import { BATCH_TYPES, type BatchFormat } from '../batches/read-rows.ts'
import { AppError } from '../errors.ts'
import { createToOrigin } from '../http/address.ts'
import { isIdentity, readBodyPieces } from '../http/body.ts'
import type { Exchange } from '../http/exchange.ts'
import { BATCH_SCOPES, BATCHES_PATH } from './batch-path.ts'
import type { ResourceOperation } from './operation.ts'

const EXAMPLE = { operation: 'verify_nin', nin: '12345678901', phone: '08031234567', reference: 'customer 1' }

export const createBatch: ResourceOperation = {
  name: 'create_batch',
  operationId: 'createBatch',
  method: 'POST',
  path: BATCHES_PATH,
  tag: 'Batches',
  summary: 'Verify many numbers',
  description:
    'Takes up to 50 000 rows and 16 MiB as NDJSON, as CSV with a header, or as a JSON array. Rows are validated as single verifications are; bad rows are refused with their line and do not stop the others. All good rows are accepted when the whole body has arrived; if it does not arrive whole, nothing is accepted. The same Idempotency-Key with the same body gets the same batch.',
  scope: BATCH_SCOPES,
  requestBody: {
    required: true,
    content: {
      'application/x-ndjson': { schema: BatchRowRequest, example: EXAMPLE },
      'text/csv': {
        schema: { type: 'string' },
        example: 'operation,nin,phone,reference\r\nverify_nin,12345678901,08031234567,customer 1\r\n',
      },
      'application/json': { schema: { type: 'array', items: BatchRowRequest }, example: [EXAMPLE] },
    },
  },
  responses: {
    202: {
      description: 'The batch is accepted, and its rows are being verified.',
      content: { 'application/json': { schema: NewBatchResponse } },
    },
  },
  errors: [
    'malformed_json',
    'idempotency_in_progress',
    'batch_too_large',
    'unsupported_batch_type',
    'validation_failed',
    'idempotency_key_reused',
    'queue_full',
    'audit_unavailable',
  ],
  run: async ({ batches, config }, exchange, caller) => {
    const { headers, id: requestId, person } = exchange
    const format = toFormat(exchange)
    const origin = createToOrigin(config)(exchange) ?? ''
    const incoming = { caller, person, requestId, origin, headers, format, pieces: readBodyPieces(exchange) }
    const { place } = exchange
    if (place?.mayWait() === false) throw new AppError('overloaded')
    const receive = () => batches.receive(incoming)
    // The body may take minutes to arrive.
    const { batch, replayed } = await (place ? place.whileWaiting(receive) : receive())
    return {
      status: 202,
      headers: [
        'content-type',
        'application/json; charset=utf-8',
        'cache-control',
        'no-store',
        'location',
        `${BATCHES_PATH}/${batch.id}`,
        ...(replayed ? ['idempotent-replayed', 'true'] : []),
      ],
      body: toAcceptedBody(batches.toView(batch), batches.listRefusals(batch)),
    }
  },
}

/** A missing content type is taken as JSON, as it is for a single verification. */
function toFormat({ headers }: Exchange): BatchFormat {
  const essence = headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase() || 'application/json'
  const format = Object.hasOwn(BATCH_TYPES, essence)
    ? BATCH_TYPES[essence as keyof typeof BATCH_TYPES]
    : undefined
  if (!format || !isIdentity(headers['content-encoding']))
    throw new AppError('unsupported_batch_type', { headers: { 'accept-encoding': 'identity' } })
  return format
}

/** The response to a new batch, in pieces: there may be a refusal for every row. */
async function* toAcceptedBody(
  view: BatchView,
  refusals: AsyncIterable<readonly RowRefusal[]>,
): AsyncGenerator<string> {
  const body = { success: true, message: 'Batch accepted', data: { ...view, refusals: [] } }
  const text = JSON.stringify(body)
  const end = ']}}'
  let before = text.slice(0, -end.length)
  for await (const page of refusals) {
    yield before + page.map((refusal) => JSON.stringify(refusal)).join(',')
    before = ','
  }
  yield (before === ',' ? '' : before) + end
}
