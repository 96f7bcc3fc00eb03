import { toExactMoment, toHourSpan, toMoment, toSecond } from '../format.ts'

const MOMENTS = { hour: toHourSpan, minute: toMoment, second: toSecond, exact: toExactMoment } as const

type WhenProps = {
  readonly at: string | null
  readonly otherwise?: string
  readonly to?: keyof typeof MOMENTS
}

/** A time in the zone of the browser, with the exact time as tooltip. */
export function When({ at, otherwise = '–', to = 'minute' }: WhenProps) {
  if (at === null || Number.isNaN(Date.parse(at))) return <span class="dim">{otherwise}</span>
  return (
    <time dateTime={at} title={toExactMoment(at)} class="nowrap">
      {MOMENTS[to](at)}
    </time>
  )
}
