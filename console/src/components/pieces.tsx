import type { ComponentChildren } from 'preact'
import { toExactMoment, toHourSpan, toMoment, toSecond } from '../format.ts'

export type Tone = 'good' | 'bad' | 'warn' | 'dim' | 'live'

export function Pill({ tone, children }: { tone: Tone; children: ComponentChildren }) {
  return <span class={`pill ${tone}`}>{children}</span>
}

const MOMENTS = { hour: toHourSpan, minute: toMoment, second: toSecond, exact: toExactMoment } as const

type WhenProps = {
  readonly at: string | null
  readonly otherwise?: string
  readonly to?: keyof typeof MOMENTS
}

/** A moment in the time of whoever looks; the exact one is in the title. */
export function When({ at, otherwise = '–', to = 'minute' }: WhenProps) {
  if (at === null || Number.isNaN(Date.parse(at))) return <span class="dim">{otherwise}</span>
  return (
    <time dateTime={at} title={toExactMoment(at)} class="still">
      {MOMENTS[to](at)}
    </time>
  )
}

type PanelProps = {
  readonly title: ComponentChildren
  readonly aside?: ComponentChildren
  readonly children: ComponentChildren
}

export function Panel({ title, aside, children }: PanelProps) {
  return (
    <section class="panel">
      <div class="bar">
        <h2>{title}</h2>
        {aside}
      </div>
      {children}
    </section>
  )
}

/** Names and values, one below the other. */
export function Facts({ facts }: { facts: readonly (readonly [string, ComponentChildren])[] }) {
  return (
    <dl class="facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value === '' ? <span class="dim">–</span> : value}</dd>
        </div>
      ))}
    </dl>
  )
}

export const toOutcomeTone = (outcome: string | null): Tone => {
  if (outcome === null) return 'dim'
  if (outcome === 'verified' || outcome === 'ok') return 'good'
  return outcome.startsWith('not_') ? 'warn' : 'bad'
}
