import type { ComponentChildren } from 'preact'
import { toExactMoment, toMoment } from '../format.ts'

export type Tone = 'good' | 'bad' | 'warn' | 'dim' | 'live'

export function Pill({ tone, children }: { tone: Tone; children: ComponentChildren }) {
  return <span class={`pill ${tone}`}>{children}</span>
}

/** A moment in the time of whoever looks; the exact one is in the title. */
export function When({
  at,
  otherwise = '–',
  isExact = false,
}: {
  at: string | null
  otherwise?: string
  isExact?: boolean
}) {
  if (at === null || Number.isNaN(Date.parse(at))) return <span class="dim">{otherwise}</span>
  return (
    <time dateTime={at} title={at} class="still">
      {isExact ? toExactMoment(at) : toMoment(at)}
    </time>
  )
}

type PanelProps = {
  readonly title: string
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
