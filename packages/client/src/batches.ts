import type { Schemas } from './api.ts'
import { readData } from './data.ts'
import { invalidArgument } from './error.ts'
import { stream } from './stream.ts'
import type { CallOptions, Transport } from './transport.ts'
import { listPersonal, toHeader } from './verification.ts'

export type BatchRow = Schemas['CreateBatchRequest'][number]
export type NewBatch = Schemas['CreateBatchResponse']['data']
export type Batch = Schemas['GetBatchResponse']['data']
export type BatchResult = Schemas['GetBatchResultsResponse']

export type BatchOptions = CallOptions & {
  /** Without it, each call makes its own. The same key and rows get the same batch. */
  readonly idempotencyKey?: string | undefined
}

export type Batches = {
  /** Sends up to 50 000 rows. Refused rows are in `refusals` and do not stop the others. */
  readonly create: (rows: readonly BatchRow[], options?: BatchOptions) => Promise<NewBatch>
  /** How far it is. */
  readonly get: (id: string, options?: CallOptions) => Promise<Batch>
  /**
   * All rows in the order in which they were sent, as they arrive, also those that have not ended. `timeoutMs` is for each wait
   * for further rows.
   */
  readonly results: (id: string, options?: CallOptions) => AsyncGenerator<BatchResult, void>
  /** Cancels the rows that have not begun. */
  readonly cancel: (id: string, options?: CallOptions) => Promise<Batch>
}

const PATH = '/api/v2/kyc/batches'

export const createBatches = (transport: Transport, { send } = transport): Batches => ({
  create: async (rows, { idempotencyKey = crypto.randomUUID(), ...call } = {}) => {
    if (!rows.every((row) => typeof row === 'object' && row !== null))
      throw invalidArgument('A row of a batch must be an object.')
    return readData<Schemas['CreateBatchResponse']>(send, {
      ...call,
      method: 'POST',
      path: PATH,
      headers: {
        'content-type': 'application/json',
        'idempotency-key': toHeader('idempotencyKey', idempotencyKey, 255),
      },
      body: JSON.stringify(rows),
      sent: rows.flatMap(listPersonal),
      isLarge: true,
    })
  },
  get: async (id, call = {}) =>
    readData<Schemas['GetBatchResponse']>(send, { ...call, method: 'GET', path: toPath(id) }),
  results: async function* (id, call = {}) {
    const headers = { accept: 'application/x-ndjson' }
    yield* stream(transport, { ...call, method: 'GET', path: `${toPath(id)}/results`, headers })
  },
  cancel: async (id, call = {}) =>
    readData<Schemas['CancelBatchResponse']>(send, { ...call, method: 'DELETE', path: toPath(id) }),
})

function toPath(id: unknown): string {
  if (typeof id === 'string' && /^bat_\w+$/.test(id)) return `${PATH}/${id}`
  throw invalidArgument('id must be the id of a batch: bat_…')
}
