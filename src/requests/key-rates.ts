import { type KindCount, parseCounts } from './line.ts'
import type { BlockHead, RequestTable } from './request-table.ts'

/** The requests of one key. Every request is in one of these numbers, and in `requests`. */
type KeyRate = {
  readonly keyId: string
  readonly mode: string
  requests: number
  /** 2xx, 304, and 422 not_verified, which is an answer. */
  answered: number
  /** The other 4xx. */
  refused: number
  /** 5xx. */
  failed: number
  /** The caller closed the connection before the response. */
  brokenOff: number
  /** The most frequent of the codes that were not answered. */
  topCode: string | undefined
}

type KeyRates = {
  /** The one with the most requests that were not answered first. */
  readonly keys: readonly KeyRate[]
  /** Requests without a valid key, by status. */
  readonly keyless: readonly { readonly status: number; readonly count: number }[]
}

const HEADS = 500

/** Counts whole blocks, without reading lines. A block spans an hour at most, so the first one may begin before `from`. */
export async function readKeyRates(table: Pick<RequestTable, 'list'>, from: number): Promise<KeyRates> {
  const rates = new Map<string, KeyRate>()
  const codes = new Map<string, Map<string, number>>()
  const keyless = new Map<number, number>()
  let after: BlockHead | undefined
  do {
    const heads: BlockHead[] = await table.list({ from, until: Number.MAX_SAFE_INTEGER, after, most: HEADS })
    for (const count of heads.flatMap((head) => parseCounts(head.counts)))
      if (count.keyId === '') keyless.set(count.status, (keyless.get(count.status) ?? 0) + count.count)
      else addCount(rates, codes, count)
    after = heads.length < HEADS ? undefined : heads.at(-1)
  } while (after)
  for (const rate of rates.values()) rate.topCode = findTop(codes.get(rate.keyId))
  return {
    keys: [...rates.values()].sort((a, b) => countErrors(b) - countErrors(a) || b.requests - a.requests),
    keyless: [...keyless].map(([status, count]) => ({ status, count })).sort((a, b) => a.status - b.status),
  }
}

const countErrors = ({ refused, failed, brokenOff }: KeyRate): number => refused + failed + brokenOff

function addCount(
  rates: Map<string, KeyRate>,
  codes: Map<string, Map<string, number>>,
  { keyId, mode, status, code, count }: KindCount,
): void {
  const rate = rates.get(keyId) ?? {
    ...{ keyId, mode, requests: 0, answered: 0, refused: 0, failed: 0, brokenOff: 0, topCode: undefined },
  }
  rates.set(keyId, rate)
  const column = toColumn(status, code)
  rate.requests += count
  rate[column] += count
  if (column === 'answered') return
  const known = codes.get(keyId) ?? new Map<string, number>()
  known.set(code, (known.get(code) ?? 0) + count)
  codes.set(keyId, known)
}

function toColumn(status: number, code: string): 'answered' | 'refused' | 'failed' | 'brokenOff' {
  if (status === 0) return 'brokenOff'
  if (status < 400 || code === 'not_verified') return 'answered'
  return status < 500 ? 'refused' : 'failed'
}

const findTop = (codes: ReadonlyMap<string, number> = new Map()) =>
  [...codes].reduce<[string, number] | undefined>(
    (top, each) => (top && top[1] >= each[1] ? top : each),
    undefined,
  )?.[0]
