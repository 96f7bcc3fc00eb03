import type { BatchView } from '../contract/batch.ts'
import type { RowRefusal } from './batch-row.ts'

/** The formats of results. The first is the default. */
const RESULT_TYPES = ['application/x-ndjson', 'text/csv'] as const
export type ResultType = (typeof RESULT_TYPES)[number]

/** The format that the client likes most, by the Accept header (RFC 9110). Without a format that we have: the default. */
export function toResultType(accept: string | undefined): ResultType {
  const ranges = (accept ?? '').split(',').map(toRange)
  const [best] = RESULT_TYPES.map((type) => ({ type, quality: toQuality(ranges, type) })).sort(
    (one, other) => other.quality - one.quality,
  )
  return best && best.quality > 0 ? best.type : RESULT_TYPES[0]
}

type Range = { readonly name: string; readonly quality: number }

function toRange(text: string): Range {
  const [name = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase())
  const quality = parameters.find((parameter) => /^q\s*=/.test(parameter))?.replace(/^q\s*=\s*/, '')
  return { name, quality: quality === undefined ? 1 : Number(quality) || 0 }
}

/** The most specific range that fits decides. */
function toQuality(ranges: readonly Range[], type: ResultType): number {
  const [group] = type.split('/')
  for (const name of [type, `${group}/*`, '*/*']) {
    const range = ranges.find((each) => each.name === name)
    if (range) return range.quality
  }
  return 0
}

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
