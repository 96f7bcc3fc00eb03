import { createHash, type KeyObject } from 'node:crypto'
import { UserError } from '../../errors.ts'
import { type ArchiveStatement, openStatement } from './archive-statement.ts'
import { type FoundArchive, openArchive } from './read-archive.ts'

/** Resolves when an archive is the file that was archived, with its statement. Throws if it was changed. */
export type CheckDigest = (file: FoundArchive, publicKey: KeyObject) => Promise<ArchiveStatement>

/** Few enough bytes not to delay requests. */
const BYTES_AT_ONCE = 256 * 1024

/** Whether the content is the one that the statement is about. Reads all of it. */
export async function hasDigest(
  { contentBytes, readBytes }: FoundArchive,
  { bytes, digest }: ArchiveStatement,
): Promise<boolean> {
  if (contentBytes !== bytes) return false
  const hash = createHash('sha256')
  for (let at = 0; at < bytes; at += BYTES_AT_ONCE)
    hash.update(await readBytes({ at, length: Math.min(BYTES_AT_ONCE, bytes - at) }))
  return hash.digest('hex') === digest
}

/** Reads each file once, and again after it was written or replaced. */
export function createDigestCheck(): CheckDigest {
  const known = new Map<string, { readonly identity: string; readonly isSound: Promise<boolean> }>()
  return async ({ path, identity, signed }, publicKey) => {
    const statement = openStatement(signed, publicKey)
    if (!statement)
      throw new UserError(
        `${path} is not an archive of this audit log: its statement has no valid signature.`,
      )
    const last = known.get(path)
    const isSound = last?.identity === identity ? last.isSound : checkFile(path, identity, statement)
    known.set(path, { identity, isSound })
    isSound.catch(() => known.delete(path))
    if (await isSound) return statement
    throw new UserError(
      `${path} is not the file that was archived: it was changed or damaged. Put a copy in its place, and run: tabbat audit verify`,
    )
  }
}

/** With a file handle of its own: the search may end before. Another file at the path says nothing about this one. */
async function checkFile(path: string, identity: string, statement: ArchiveStatement): Promise<boolean> {
  const file = await openArchive(path)
  try {
    return file.identity === identity && (await hasDigest(file, statement))
  } finally {
    await file.close()
  }
}
