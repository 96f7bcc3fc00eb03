import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, globSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { ROOT } from './bundle.ts'
import { stageFiles } from './clients.ts'
import { readLock } from './lock-file.ts'
import { readArguments } from './tool-arguments.ts'

/** Packs a package whose dist/ was built, without npm's scripts, and returns the name of the file. */
export function packNpm(folder: string, out: string): string {
  // npm would also take files that git ignores: a .env, a log.
  const stage = stageFiles(folder, [...listTracked(folder), ...listBuilt(folder)])
  if (folder === ROOT) writeInstalledManifest(stage)
  // Of the files there, npm takes those that the field "files" of package.json names.
  const args = ['pack', '--ignore-scripts', '--silent', '--pack-destination', resolve(out)]
  const name = execFileSync('npm', args, {
    ...{ cwd: stage, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] },
  })
  rmSync(stage, { recursive: true })
  return name.trim()
}

/** Without those that were deleted. */
const listTracked = (folder: string) =>
  execFileSync('git', ['ls-files'], { cwd: folder, encoding: 'utf8' })
    .trim()
    .split('\n')
    .filter((path) => existsSync(join(folder, path)))

/** Without executables and releases, which are large and not packed. */
function listBuilt(folder: string): string[] {
  const { files } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { files: string[] }
  const exclude = files.filter((each) => each.startsWith('!')).map((each) => each.slice(1))
  return globSync('dist/**', { cwd: folder, withFileTypes: true, exclude })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
}

/** Of package.json, what is of use only in a checkout. `npm ci` would ask for the hashes of development packages. */
const OF_CHECKOUT = ['scripts', 'workspaces', 'devDependencies', 'overrides', 'allowScripts']

/** The hashes of Node.js for every platform are in npm-shrinkwrap.json, which `npm ci` reads in the unpacked package. */
function writeInstalledManifest(stage: string): void {
  const manifest = JSON.parse(readFileSync(join(stage, 'package.json'), 'utf8')) as Record<string, unknown>
  for (const field of OF_CHECKOUT) delete manifest[field]
  const files = [...(manifest.files as string[]), 'npm-shrinkwrap.json']
  writeJson(join(stage, 'package.json'), { ...manifest, files })
  const { name, version, license, engines, bin, optionalDependencies = {} } = manifest
  const { packages } = readLock()
  const paths = Object.keys(optionalDependencies as object).map((each) => `node_modules/${each}`)
  writeJson(join(stage, 'npm-shrinkwrap.json'), {
    ...{ name, version, lockfileVersion: 3, requires: true },
    packages: {
      '': { name, version, license, engines, bin, optionalDependencies },
      ...Object.fromEntries(paths.map((path) => [path, packages[path]])),
    },
  })
}

/** With fixed rights, as stageFiles does it. */
function writeJson(path: string, value: object): void {
  writeFileSync(path, `${JSON.stringify(value, undefined, 2)}\n`)
  chmodSync(path, 0o644)
}

const HELP = `npm run build:package -- [options]

Makes the npm package, as a file.

  --out FOLDER  where to (default dist)`

if (import.meta.main) {
  const { out } = readArguments(HELP, { out: { type: 'string', default: join(ROOT, 'dist') } }).values
  process.stdout.write(`${join(out, packNpm(ROOT, out))}\n`)
}
