import type { ComponentChildren } from 'preact'

/** A list of names and values. */
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
