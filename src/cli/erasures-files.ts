import { UserError } from '../errors.ts'
import { ERASURES_FILE, type ErasuresFile, readErasuresFile } from '../people/erasures-file.ts'

/** The files that are named, which must exist, or else the one of this node, if it exists. */
export async function readErasuresFiles(
  named: readonly string[] | undefined,
  folder: string,
): Promise<ErasuresFile[]> {
  if (!named) return [await readErasuresFile(folder)].flatMap((file) => file ?? [])
  const files: ErasuresFile[] = []
  for (const path of named) {
    const file = await readErasuresFile(path)
    if (!file) throw new UserError(`There is no ${ERASURES_FILE} at ${path}. Nothing was changed.`)
    files.push(file)
  }
  return files
}
