import { type SubjectBlock, type SubjectOfRow, toKeys, toPages } from '../audit/subject-blocks.ts'
import { DamagedIndex } from '../database/failure.ts'
import type { SubjectScrub } from './subject-scrub.ts'

const ROWS_AT_ONCE = 500

/** Compares every block of subjects with the audit rows it was made from. Throws at the first that differs. */
export async function scrubSubjects(
  table: SubjectScrub,
  pauseAfter: (tookMs: number) => Promise<void>,
): Promise<number> {
  let pieces = 0
  for (
    let block = await table.nextBlock('', 0);
    block;
    block = await table.nextBlock(block.chain, block.first)
  ) {
    const { chain, first, last } = block
    const rows: SubjectOfRow[] = []
    for (let after = first - 1; after < last; after += ROWS_AT_ONCE) {
      const startedAt = performance.now()
      rows.push(...(await table.subjects(chain, after, Math.min(after + ROWS_AT_ONCE, last))))
      await pauseAfter(performance.now() - startedAt)
    }
    const isSame = toText(toPages(toKeys(rows, first))) === toText(await table.readPages(chain, first))
    // The rows of an archived chain are removed, and its blocks after them.
    if (!isSame && !(await table.isArchived(chain))) throw new DamagedIndex()
    pieces += 1
  }
  return pieces
}

const toText = (pages: SubjectBlock['pages']) =>
  pages
    .toSorted(([one], [other]) => one - other)
    .map(([bucket, entries]) => `${bucket} ${Buffer.from(entries).toString('base64')}`)
    .join('\n')
