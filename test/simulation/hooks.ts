import { readFileSync } from 'node:fs'
import {
  type LoadFnOutput,
  type RegisterHooksOptions,
  type ResolveFnOutput,
  registerHooks,
  stripTypeScriptTypes,
} from 'node:module'
import { fileURLToPath, pathToFileURL } from 'node:url'

/** A change of one place of the product, to show that the simulation notices it. */
export type Defect = {
  readonly file: string
  readonly find: string
  readonly replace: string
}

const ROOT = new URL('../../', import.meta.url)
const SOURCES = new URL('src/', ROOT).href

/** What the product imports, and the module of the simulation in its place. */
const IN_PLACE_OF: Readonly<Record<string, string>> = {
  'node:crypto': 'modules/crypto.ts',
  'node:fs': 'modules/fs.ts',
  'node:fs/promises': 'modules/fs-promises.ts',
  'node:zlib': 'modules/zlib.ts',
  'node:timers/promises': 'modules/timers-promises.ts',
  'node:worker_threads': 'modules/worker-threads.ts',
  'node:sqlite': 'modules/sqlite.ts',
  undici: 'modules/undici.ts',
  pg: 'modules/pg.ts',
}

/** Pools of random bytes are emptied before every run: otherwise a run would depend on the runs before it. */
const POOL = /^let used = pool\.length$/m
const RESET = '; globalThis.simulationResets.push(() => { used = pool.length })'

/**
 * From now on, modules of the product get the simulated clock, network, disk, threads and random bytes instead of those of Node.js.
 * Their text is otherwise unchanged, but for a planted defect.
 */
export function installHooks(defects: readonly Defect[] = []): void {
  const planted = new Map(
    defects.map((defect) => [
      new URL(defect.file, ROOT).href,
      defects.filter(({ file }) => file === defect.file),
    ]),
  )
  registerHooks(ofThreads())
  registerHooks({
    resolve: (specifier, context, next) => {
      const { parentURL = '' } = context
      const instead = parentURL.startsWith(SOURCES) ? IN_PLACE_OF[specifier] : undefined
      if (instead === undefined) return next(specifier, context)
      const thread = new URL(parentURL).search
      return {
        url: new URL(instead, import.meta.url).href + (instead.includes('threads') ? thread : ''),
        shortCircuit: true,
      }
    },
    load: (url, context, next) => {
      const loaded = next(url, context)
      if (!url.startsWith(SOURCES)) return loaded
      const [path = ''] = url.split('?')
      const changes = planted.get(path) ?? []
      const text = String(loaded.source)
      if (changes.length === 0 && !POOL.test(text)) return loaded
      return { ...loaded, source: plant(text, changes).replace(POOL, (line) => line + RESET) }
    },
  })
}

/** Each thread loads its module once more: where its imports lead, and its text without types, are kept. */
function ofThreads(): RegisterHooksOptions {
  const resolved = new Map<string, ResolveFnOutput>()
  const loaded = new Map<string, LoadFnOutput>()
  return {
    resolve: (specifier, context, next) => {
      const [parent = '', thread] = (context.parentURL ?? '').split(THREAD)
      if (thread === undefined) return next(specifier, context)
      const found = resolved.get(`${parent} ${specifier}`) ?? next(specifier, context)
      resolved.set(`${parent} ${specifier}`, found)
      return { ...found, shortCircuit: true }
    },
    load: (url, context, next) => {
      const [path = '', thread] = url.split(THREAD)
      if (thread === undefined) return next(url, context)
      const known = loaded.get(path)
      if (known) return known
      const { source } = next(url, context)
      const script = stripTypeScriptTypes(String(source))
      const made = { format: 'module' as const, source: script, shortCircuit: true }
      loaded.set(path, made)
      return made
    },
  }
}

const THREAD = '?thread='

function plant(text: string, defects: readonly Defect[]): string {
  return defects.reduce((changed, { file, find, replace }) => {
    if (changed.split(find).length !== 2)
      throw new Error(`the defect does not fit once into ${file}: ${find}`)
    return changed.replace(find, () => replace)
  }, text)
}

/** Whether the defect can still be planted. */
export const fits = ({ file, find }: Defect): boolean =>
  readFileSync(fileURLToPath(new URL(file, ROOT)), 'utf8').split(find).length === 2

export const toUrl = (path: string): string => pathToFileURL(path).href
