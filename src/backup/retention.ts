import { createReadStream, readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { createGunzip } from 'node:zlib'
import type { RootKeys } from '../crypto/root-key.ts'
import { UserError } from '../errors.ts'
import { FORMAT, type Header } from './format.ts'
import { splitLines } from './lines.ts'
import { readBackup } from './read-backup.ts'

/** The names that `tabbat backup --keep` gives: tabbat-20260301-023000.backup, in UTC. */
const NAME = /^tabbat-\d{8}-\d{6}\.backup$/

export function toBackupFile(folder: string, at: Date): string {
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory())
    throw new UserError(`${folder} is not a folder. With --keep, name the folder of the backups.`)
  const [date = '', time = ''] = at.toISOString().replaceAll(/[-:]/g, '').split(/[T.]/)
  return join(folder, `tabbat-${date}-${time}.backup`)
}

/**
 * Deletes the oldest backups of this installation in the folder but `keep`, and returns their files. The new one is read back
 * first: if it is damaged, nothing is deleted. Files with other names or of another root key stay.
 */
export async function deleteOldBackups(
  folder: string,
  newest: string,
  { keep, rootKeys }: { readonly keep: number; readonly rootKeys: RootKeys },
): Promise<string[]> {
  const { header } = await readBackup(newest, rootKeys, { onRows: () => {} })
  const own: string[] = []
  for (const name of readdirSync(folder)
    .filter((each) => NAME.test(each))
    .toSorted()) {
    const file = join(folder, name)
    if (file === newest) continue
    if ((await readHeader(file))?.root_fingerprint === header.root_fingerprint) own.push(file)
  }
  const old = own.slice(0, Math.max(0, own.length - (keep - 1)))
  for (const file of old) rmSync(file)
  return old
}

/** The first line; undefined when the file is not a backup or cannot be read. */
async function readHeader(file: string): Promise<Partial<Header> | undefined> {
  const input = createReadStream(file)
  const text = createGunzip()
  input.on('error', (error) => text.destroy(error))
  try {
    for await (const line of splitLines(input.pipe(text))) {
      const header = JSON.parse(line.toString()) as Partial<Header> | null
      return header?.format === FORMAT ? header : undefined
    }
  } catch {
    // Damaged, or another file: it stays.
  } finally {
    input.destroy()
    text.destroy()
  }
  return undefined
}
