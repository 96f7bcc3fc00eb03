import { existsSync, readFileSync, writeFileSync } from 'node:fs'

const LOCK = new URL('../package-lock.json', import.meta.url)

export type LockedPackage = {
  readonly name?: string
  readonly version: string
  readonly integrity?: string
  readonly license?: string
  readonly dev?: boolean
  readonly link?: boolean
  readonly dependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
}

export type LockFile = {
  /** By path. The path of the project itself is empty. */
  readonly packages: Readonly<Record<string, LockedPackage>> & {
    readonly '': { readonly optionalDependencies: Readonly<Record<string, string>> }
  }
}

let read: LockFile | undefined

export function readLock(): LockFile {
  read ??= JSON.parse(readFileSync(LOCK, 'utf8')) as LockFile
  return read
}

/** The paths of the packages that a package needs, found as Node.js finds them: in its own node_modules, then further up. */
export function listDependencies(path: string): string[] {
  const { packages } = readLock()
  const { dependencies, devDependencies, optionalDependencies, peerDependencies } = packages[path] ?? {}
  const names = Object.keys({
    ...dependencies,
    ...devDependencies,
    ...optionalDependencies,
    ...peerDependencies,
  })
  return names.flatMap((name) => {
    for (let folder = path; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf('/node_modules/')))) {
      const found = folder === '' ? `node_modules/${name}` : `${folder}/node_modules/${name}`
      if (packages[found]) return [found]
      if (folder === '') return []
    }
  })
}

/**
 * Removes the engines of dependencies from the lock file. npm compares them with the Node.js that runs npm, and would print
 * five lines for every package that needs a newer one. But Tabbat and its tools run on the Node.js that npm installs.
 */
function removeEngines(): void {
  const before = readFileSync(LOCK, 'utf8')
  const lock = JSON.parse(before) as { readonly packages: Readonly<Record<string, { engines?: object }>> }
  for (const [path, entry] of Object.entries(lock.packages))
    if (path.startsWith('node_modules/')) delete entry.engines
  const after = `${JSON.stringify(lock, null, 2)}\n`
  if (after !== before) writeFileSync(LOCK, after)
}

if (import.meta.main && existsSync(LOCK)) removeEngines()
