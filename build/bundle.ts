import { globSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type InputOptions, type OutputOptions, type Plugin, type RolldownOutput, rolldown } from 'rolldown'
import { WORKER_THREADS } from '../src/assets/worker-thread.ts'

export const ROOT = dirname(import.meta.dirname)

/** Files that the program reads at run time, by their path in the repository. */
const ASSETS = [
  'package.json',
  'vendors/*.json',
  'openapi.json',
  'console/dist/**/*',
  'guide/dist/*.{gz,png}',
  'src/catalogue/data/*.json',
  'src/database/{schema,functions,migrations}/*.sql',
  'src/reference/docs-page/copy.js',
  'src/reference/docs-page/style/*.css',
]

export const listAssetFiles = (): string[] =>
  globSync(ASSETS, { cwd: ROOT, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(ROOT.length + 1))
    .sort()

export const MAIN = join(ROOT, 'src/main.ts')

export const listWorkers = (): [name: string, file: string][] =>
  Object.entries(WORKER_THREADS).map(([name, file]) => [name, join(ROOT, file)])

/** In a checkout some modules are loaded by `createRequire` when they are needed; in a bundle its own `require` does that. */
const bundledRequire: Plugin = {
  name: 'bundled-require',
  transform: (code, id) =>
    id.startsWith(join(ROOT, 'src')) && code.includes('createRequire(')
      ? { code: code.replace(/const require = createRequire\(import\.meta\.url\)/, ''), map: null }
      : null,
}

export const toRolldownOptions = (input: string | Record<string, string>): InputOptions => ({
  input,
  platform: 'node',
  // The optional native client of pg, which is not used.
  external: ['pg-native'],
  plugins: [bundledRequire],
  logLevel: 'warn',
  // A checkout loads these modules when they are needed, and a bundle may have them in its first file.
  checks: { ineffectiveDynamicImport: false },
})

export async function bundle(
  input: string | Record<string, string>,
  output: OutputOptions,
): Promise<RolldownOutput> {
  const build = await rolldown(toRolldownOptions(input))
  try {
    return await build.write({ sourcemap: true, ...output })
  } finally {
    await build.close()
  }
}

/**
 * Modules that so many of the commands, threads and parts that are loaded later use are one file: to load a file takes about as long
 * as to run it.
 */
const SHARED = { name: 'shared', minShareCount: 16 }

/** The program as plain JavaScript: main.js, one file for each worker thread, and the chunks that they share. */
export function bundleProgram(dir: string): Promise<RolldownOutput> {
  const workers = listWorkers().map(([name, file]) => [`worker-${name}`, file])
  return bundle(
    { main: MAIN, ...Object.fromEntries(workers) },
    {
      dir,
      format: 'esm',
      entryFileNames: '[name].js',
      chunkFileNames: '[name]-[hash].js',
      codeSplitting: { groups: [SHARED] },
    },
  )
}

/** The folders of the packages whose modules were bundled. */
export function listPackageFolders(outputs: readonly RolldownOutput[]): string[] {
  const modules = outputs.flatMap(({ output }) =>
    output.flatMap((file) => ('moduleIds' in file ? file.moduleIds : [])),
  )
  return [
    ...new Set(modules.flatMap((id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(id)?.[0] ?? [])),
  ]
}
