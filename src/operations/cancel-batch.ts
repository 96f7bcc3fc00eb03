import { BatchResponse } from '../batches/batch-view.ts'
import { BATCH_ID, BATCH_PATH, BATCH_SCOPES, findBatch, toBatchReply } from './batch-path.ts'
import type { ResourceOperation } from './operation.ts'

export const cancelBatch: ResourceOperation = {
  name: 'cancel_batch',
  operationId: 'cancelBatch',
  method: 'DELETE',
  path: BATCH_PATH,
  tag: 'Batches',
  summary: 'Cancel a batch',
  description:
    'Cancels the rows that have not begun. Rows that have begun are finished, and the results so far stay. A batch that has ended is not changed.',
  scope: BATCH_SCOPES,
  id: BATCH_ID,
  responses: {
    200: {
      description: 'The batch after the request. Its `state` says whether it was cancelled.',
      content: { 'application/json': { schema: BatchResponse } },
    },
  },
  errors: ['not_found', 'audit_unavailable'],
  run: async ({ batches }, exchange, { lineage, keyId, mode }) => {
    const find = () => findBatch(exchange, (id) => batches.find(id, lineage))
    await batches.stop(await find(), { key_id: keyId, mode })
    const view = batches.toView(await find())
    const message = view.state === 'completed' ? 'Batch had ended; nothing was cancelled' : 'Batch cancelled'
    return toBatchReply(message, view)
  },
}
