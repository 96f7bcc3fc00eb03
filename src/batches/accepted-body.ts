import type { BatchView } from '../contract/batch.ts'
import type { RowRefusal } from './batch-row.ts'

/** The response to a new batch, in pieces: there may be a refusal for every row. */
export async function* toAcceptedBody(
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
