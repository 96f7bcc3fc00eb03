import { type RowPages, UnexpectedValue } from '../store/row-pages.ts'
import { createNodeTree } from './verify-node-tree.ts'
import { checkPage, type Position } from './verify-page.ts'

/** Consecutive rows of a chain, to be checked by one thread. */
export type Stretch = {
  readonly chain: string
  readonly after: number
  /** The hash of the row before, in hex. */
  readonly previous: string
  readonly segments: readonly Segment[]
}

/** Rows up to a sequence, and whether the Merkle root over them is wanted. */
export type Segment = { readonly upTo: number; readonly hasRoot: boolean }

/** Hashes in hex. */
export type CheckedSegment = { readonly hash: string; readonly root: string | undefined }

export type CheckedStretch = {
  readonly segments: readonly CheckedSegment[]
  /** The field policies that the rows refer to. */
  readonly references: readonly string[]
}

/** Checks the links and hashes of rows; undefined when any is wrong. verifyChain says which one, and why. */
export async function checkStretch(pages: RowPages, stretch: Stretch): Promise<CheckedStretch | undefined> {
  const { chain, previous } = stretch
  const position: Position = {
    sequence: stretch.after,
    hash: Buffer.from(previous, 'hex'),
    tree: undefined,
    references: new Set(),
    reference: Buffer.alloc(0),
  }
  const take = (page: Buffer, length: number) => {
    if (!checkPage(position, page, length)) throw new UnexpectedValue()
  }
  const segments: CheckedSegment[] = []
  try {
    for (const { upTo, hasRoot } of stretch.segments) {
      position.tree = hasRoot ? createNodeTree() : undefined
      await pages.read(chain, { after: position.sequence, upTo }, take)
      if (position.sequence !== upTo) return undefined
      segments.push({ hash: position.hash.toString('hex'), root: position.tree?.root() })
    }
  } catch (error) {
    if (error instanceof UnexpectedValue) return undefined
    throw error
  }
  return { segments, references: [...position.references] }
}
