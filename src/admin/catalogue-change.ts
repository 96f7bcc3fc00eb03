import { auditBy } from '../audit/audit-by.ts'
import { toPlainChange } from '../catalogue/diff.ts'
import { AwaitsReview } from '../catalogue/review.ts'
import { type CatalogueDeps, Implausible, type SaveResult } from '../catalogue/versions.ts'
import { AdminError } from '../contract/admin-error.ts'
import type { Actor } from '../contract/role.ts'
import type { AdminDeps } from './admin-deps.ts'
import type { CatalogueOutcome } from './shapes/catalogue.ts'

/** Makes a change and reloads the lists of this server. Other servers follow within seconds. */
export async function changeCatalogue(
  deps: AdminDeps,
  actor: Actor,
  work: (catalogueDeps: CatalogueDeps) => Promise<SaveResult>,
): Promise<CatalogueOutcome> {
  const { outcome, id, changes, doubts } = await work(toCatalogueDeps(deps, actor)).catch(
    (error: unknown) => {
      throw error instanceof Implausible ? toRefusal(error) : error
    },
  )
  await deps.context.catalogue.refresh()
  return {
    outcome: outcome === 'would change' ? 'dry_run' : outcome,
    version: id,
    changes: changes.map(toPlainChange),
    doubts: [...doubts],
  }
}

/** Like the message of the command line, without its `--force`. */
const toRefusal = (error: Implausible) =>
  new AdminError('refused', {
    message:
      error instanceof AwaitsReview
        ? `${error.doubts.join(' ')} The active lists are unchanged. The lists of the vendor wait for review on the page Catalogue.`
        : `${error.doubts.join(' ')} The active lists are unchanged. Repeat with force to activate them anyway.`,
  })

export const toCatalogueDeps = (deps: AdminDeps, actor: Actor): CatalogueDeps => {
  const { catalogue, reviews, sources } = deps.context.store
  return { table: catalogue, reviews, audit: auditBy(deps, actor), switches: sources }
}
