import type { Overview } from '../../../../src/admin/overview-figures.ts'
import { toCount, toMs, toNaira, toPercent, toSigned } from '../../format.ts'
import { toSpends } from '../../source-health.ts'

type Tile = {
  readonly name: string
  readonly value: string
  readonly note: string
  readonly change?: string | undefined
}

export function OverviewTiles({ overview }: { overview: Overview }) {
  return (
    <dl class="tiles">
      {toTiles(overview).map(({ name, value, note, change }) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            <b>{value}</b>
            <small class="dim">{note}</small>
            {change && <small class="dim">{change}</small>}
          </dd>
        </div>
      ))}
    </dl>
  )
}

function toTiles({ totals, success_rate, latency, before, sources }: Overview): Tile[] {
  const spent = toSpends(sources).reduce((sum, spend) => sum + spend.spent_kobo_today, 0)
  return [
    {
      name: 'Verifications',
      value: toCount(addUp(totals)),
      note: `${toCount(totals.verified)} verified`,
      change: before ? toCountChange(addUp(totals), addUp(before.totals)) : undefined,
    },
    {
      name: 'Success rate',
      value: toPercent(success_rate),
      note: success_rate === null ? 'no verifications' : `${toCount(totals.failed)} failed`,
      change: toDifference(success_rate, before?.success_rate, (part) => `${toSigned(part * 100, 1)} points`),
    },
    ...(['p50', 'p95', 'p99'] as const).map((part) => ({
      name: `Latency ${part}`,
      value: toMs(latency?.[`${part}_ms`] ?? null),
      note: 'estimated',
      change: toDifference(
        latency?.[`${part}_ms`],
        before?.latency?.[`${part}_ms`],
        (ms) => `${toSigned(ms, 0)} ms`,
      ),
    })),
    { name: 'Spent today', value: toNaira(spent), note: 'Lagos time' },
  ]
}

const addUp = ({ verified, not_verified, failed }: Overview['totals']) => verified + not_verified + failed

function toCountChange(now: number, before: number): string {
  if (now === before) return 'as in the period before'
  if (before === 0) return 'none in the period before'
  return `${toSigned((now / before - 1) * 100, 0)} % on the period before`
}

function toDifference(
  now: number | null | undefined,
  before: number | null | undefined,
  toText: (difference: number) => string,
): string | undefined {
  if (now === null || now === undefined || before === null || before === undefined) return undefined
  return now === before ? 'as in the period before' : `${toText(now - before)} on the period before`
}
