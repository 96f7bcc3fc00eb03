import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { getAssetKeys, getRawAsset, isSea } from 'node:sea'
import { fileURLToPath } from 'node:url'

/** Reads the files that ship with the program, by their path in the repository. */
export type AssetReader = {
  /** Undefined when there is no such file. */
  readonly read: (path: string) => Buffer | undefined
  /** The names of the files in a folder, without those of its subfolders. */
  readonly list: (folder: string) => readonly string[]
}

/** True when Node.js runs the TypeScript files of a checkout. */
export const isCheckout = import.meta.url.endsWith('.ts')

export const createFolderReader = (root: string): AssetReader => ({
  read: (path) => {
    const file = join(root, path)
    return existsSync(file) ? readFileSync(file) : undefined
  },
  list: (folder) => {
    const path = join(root, folder)
    if (!existsSync(path)) return []
    return readdirSync(path, { withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ name }) => name)
  },
})

/** The files inside the single executable. */
const createSeaReader = (keys = new Set(getAssetKeys())): AssetReader => ({
  read: (path) => (keys.has(path) ? Buffer.from(getRawAsset(path)) : undefined),
  list: (folder) =>
    [...keys]
      .filter((key) => key.startsWith(`${folder}/`))
      .map((key) => key.slice(folder.length + 1))
      .filter((name) => !name.includes('/')),
})

/** From the checkout, from the folder of the bundle, or from the single executable. */
export const assets: AssetReader = isSea()
  ? createSeaReader()
  : createFolderReader(fileURLToPath(new URL(isCheckout ? '../../' : './assets/', import.meta.url)))

/** A text file without which the program cannot run. */
export function readAssetText(path: string): string {
  const bytes = assets.read(path)
  if (!bytes) throw new Error(`${path} is missing from this installation`)
  return bytes.toString('utf8')
}
