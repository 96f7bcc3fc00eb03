import type { BatchView } from '../batches/batch-view.ts'
import type { Scope } from '../contract/scope.ts'
import { AppError } from '../errors.ts'
import { type Exchange, type Reply, toJsonReply } from '../http/exchange.ts'

export const BATCHES_PATH = '/api/v2/kyc/batches'
export const BATCH_PATH = `${BATCHES_PATH}/:id`

/** OpenAPI: the id in the path. */
export const BATCH_ID = {
  description: 'Id of the batch.',
  example: 'bat_01k9zq3v5s9m3c7d2hxg8t0zab4n6p1r5w9y',
}

/** The scope of each row is checked as well. */
export const BATCH_SCOPES: readonly Scope[] = ['kyc:nin', 'kyc:bvn']

/** The batch of another key is answered as one that does not exist. */
export async function findBatch<T>(
  { params }: Exchange,
  find: (id: string) => Promise<T | undefined>,
): Promise<T> {
  const batch = await find(params.id ?? '')
  if (!batch) throw new AppError('not_found')
  return batch
}

export const toBatchReply = (message: string, data: BatchView): Reply =>
  toJsonReply({ success: true, message, data }, 200, ['cache-control', 'no-store'])
