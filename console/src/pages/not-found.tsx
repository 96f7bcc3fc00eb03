import { toHash } from '../hash.ts'
import { shellTexts } from '../texts/en/shell.ts'

export function NotFound() {
  return (
    <section class="panel">
      <p>{shellTexts.notFound}</p>
      <p>
        <a href={toHash('overview')}>{shellTexts.toOverview}</a>
      </p>
    </section>
  )
}
