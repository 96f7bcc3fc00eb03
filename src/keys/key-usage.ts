import { toCsvLine } from '../contract/csv.ts'
import type { SourceTable } from '../sources/source-table.ts'
import type { KeyMonth, StatisticsTable } from '../statistics/statistics-table.ts'
import { toKeyNames } from './key-names.ts'
import { InvalidOption } from './key-options.ts'
import type { KeyTable } from './key-table.ts'

/** What one key did in one month of Lagos time. */
export type KeyUsage = {
  readonly month: string
  readonly key_id: string
  readonly name: string
  readonly mode: string
  readonly owner: string
  readonly verifications: number
  readonly verified: number
  readonly not_verified: number
  /** Ended without an answer about the person. */
  readonly failed: number
  /** Calls that vendors may have billed. */
  readonly paid_calls: number
  /** At the prices in the settings at the time of each call. */
  readonly cost_naira: number
}

/** Both months are included. */
export type Months = { readonly from: string; readonly to: string }

export function readMonth(text: string): string {
  if (/^20\d\d-(0[1-9]|1[0-2])$/.test(text.trim())) return text.trim()
  throw new InvalidOption('Give a month such as 2026-11.')
}

/** Every key that verified or paid for something in these months, by month and name. Deleted statistics are missing. */
export async function listKeyUsage(
  {
    statistics,
    sources,
    keys,
  }: { readonly statistics: StatisticsTable; readonly sources: SourceTable; readonly keys: KeyTable },
  { from, to }: Months,
): Promise<KeyUsage[]> {
  const counts = Map.groupBy(await statistics.monthsByKey(from, to), toPlace)
  const spent = new Map((await sources.listKeySpend(from, to)).map((each) => [toPlace(each), each]))
  const rows = await keys.list()
  const names = toKeyNames(rows)
  const known = new Map(rows.map((row) => [row.id, row]))
  const used = [...new Set([...counts.keys(), ...spent.keys()])].map((place): KeyUsage => {
    const [month = '', key_id = ''] = place.split(' ')
    const outcomes = counts.get(place) ?? []
    const name = names.get(key_id) ?? ''
    const { mode = outcomes[0]?.mode ?? '', owner = '' } = known.get(key_id) ?? {}
    const { calls = 0, kobo = 0 } = spent.get(place) ?? {}
    return {
      month,
      key_id,
      name,
      mode,
      owner,
      ...toCounts(outcomes),
      paid_calls: calls,
      cost_naira: kobo / 100,
    }
  })
  return used.toSorted((one, other) => toOrder(one).localeCompare(toOrder(other), 'en'))
}

const toPlace = ({ month, key_id }: Pick<KeyUsage, 'month' | 'key_id'>) => `${month} ${key_id}`

function toCounts(outcomes: readonly KeyMonth[]) {
  const sum = (wanted?: string) =>
    outcomes.reduce(
      (total, { outcome, count }) => total + (wanted === undefined || outcome === wanted ? count : 0),
      0,
    )
  const [verifications, verified, not_verified] = [sum(), sum('verified'), sum('not_verified')]
  return { verifications, verified, not_verified, failed: verifications - verified - not_verified }
}

const toOrder = ({ month, name, key_id }: KeyUsage) => `${month} ${name} ${key_id}`

const COLUMNS = [
  'month',
  'key_id',
  'name',
  'mode',
  'owner',
  'verifications',
  'verified',
  'not_verified',
  'failed',
  'paid_calls',
  'cost_naira',
] as const satisfies readonly (keyof KeyUsage)[]

export const toUsageCsv = (rows: readonly KeyUsage[]): string =>
  [COLUMNS, ...rows.map((row) => COLUMNS.map((name) => row[name]))].map(toCsvLine).join('')
