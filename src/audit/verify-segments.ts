import { type RowPages, UnexpectedValue } from '../database/row-pages.ts'
import { createTree } from './verify-merkle.ts'
import { checkPage, type Position } from './verify-page.ts'

const HASH_BYTES = 32

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
type CheckStretch = (stretch: Stretch) => Promise<CheckedStretch | undefined>

/** Checks one stretch at a time. */
export function createStretchCheck(pages: RowPages): CheckStretch {
  return async (stretch) => {
    const position = toPosition(stretch)
    const take = (page: Buffer<ArrayBuffer>, length: number) => {
      if (!checkPage(position, page, length)) throw new UnexpectedValue()
    }
    const segments: CheckedSegment[] = []
    try {
      for (const { upTo, hasRoot } of stretch.segments) {
        position.tree = hasRoot ? createTree() : undefined
        await pages.read(stretch.chain, { after: position.sequence, upTo }, take)
        if (position.sequence !== upTo) return undefined
        segments.push({
          hash: Buffer.from(position.hash.buffer).toString('hex'),
          root: position.tree?.root(),
        })
      }
    } catch (error) {
      if (error instanceof UnexpectedValue) return undefined
      throw error
    }
    return { segments, references: [...position.references] }
  }
}

function toPosition({ after, previous }: Stretch): Position {
  const hash = new DataView(new ArrayBuffer(HASH_BYTES))
  Buffer.from(hash.buffer).write(previous, 'hex')
  return { sequence: after, hash, tree: undefined, references: new Set(), reference: Buffer.alloc(0) }
}
