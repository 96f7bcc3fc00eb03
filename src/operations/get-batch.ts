import { BatchResponse } from '../batches/batch-view.ts'
import { BATCH_ID, BATCH_PATH, BATCH_SCOPES, findBatch, toBatchReply } from './batch-path.ts'
import type { ResourceOperation } from './operation.ts'

export const getBatch: ResourceOperation = {
  name: 'get_batch',
  operationId: 'getBatch',
  method: 'GET',
  path: BATCH_PATH,
  tag: 'Batches',
  summary: 'See how far a batch is',
  description:
    'Counts the rows by state, and says when the last one will probably end. Only for the key that sent the batch.',
  scope: BATCH_SCOPES,
  id: BATCH_ID,
  responses: {
    200: { description: 'The batch.', content: { 'application/json': { schema: BatchResponse } } },
  },
  errors: ['not_found'],
  run: async ({ batches }, exchange, { lineage }) => {
    const batch = await findBatch(exchange, (id) => batches.find(id, lineage))
    return toBatchReply('Batch found', batches.toView(batch))
  },
}
