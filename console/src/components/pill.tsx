import type { ComponentChildren } from 'preact'

export type Tone = 'good' | 'bad' | 'warn' | 'dim' | 'live'

export function Pill({ tone, children }: { tone: Tone; children: ComponentChildren }) {
  return <span class={`pill ${tone}`}>{children}</span>
}

export const toOutcomeTone = (outcome: string | null): Tone => {
  if (outcome === null) return 'dim'
  if (outcome === 'verified' || outcome === 'ok') return 'good'
  return outcome.startsWith('not_') ? 'warn' : 'bad'
}
