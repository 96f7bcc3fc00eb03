import { toHash } from '../../hash.ts'

export function NotFound() {
  return (
    <section class="panel">
      <p>The console has no page at this address, or your role cannot open it.</p>
      <p>
        <a href={toHash('overview')}>Go to the overview</a>
      </p>
    </section>
  )
}
