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
