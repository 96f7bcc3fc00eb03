import { toResultType } from '../batches/batch-results.ts'
import { BatchResult } from '../batches/batch-view.ts'
import { BATCH_ID, BATCH_PATH, BATCH_SCOPES, findBatch } from './batch-path.ts'
import type { ResourceOperation } from './operation.ts'

export const getBatchResults: ResourceOperation = {
  name: 'get_batch_results',
  operationId: 'getBatchResults',
  method: 'GET',
  path: `${BATCH_PATH}/results`,
  tag: 'Batches',
  summary: 'Read the results of a batch',
  description:
    'Streams all rows in the order of the body, as NDJSON or, with `Accept: text/csv`, as CSV. Rows that have not ended say their state. The answer of a row whose scope the key no longer has is withheld: its status is 403. In CSV, a text that a spreadsheet would run as a formula begins with an apostrophe.',
  scope: BATCH_SCOPES,
  id: BATCH_ID,
  responses: {
    200: {
      description: 'One result on each line.',
      content: {
        'application/x-ndjson': { schema: BatchResult },
        'text/csv': { schema: { type: 'string' } },
      },
    },
  },
  errors: ['not_found', 'audit_unavailable'],
  run: async ({ batches }, exchange, caller) => {
    const { id } = await findBatch(exchange, (wanted) => batches.find(wanted, caller.lineage))
    const type = toResultType(exchange.headers.accept)
    return {
      status: 200,
      headers: ['content-type', `${type}; charset=utf-8`, 'cache-control', 'no-store', 'vary', 'accept'],
      body: await batches.readResults(id, type, caller),
    }
  },
}
