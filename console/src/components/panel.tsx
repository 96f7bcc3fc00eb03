import type { ComponentChildren } from 'preact'

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
