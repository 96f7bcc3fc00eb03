import { execFileSync } from 'node:child_process'
import { chmodSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { ROOT } from './bundle.ts'
import { stageFiles } from './clients.ts'
import { readLock } from './lock-file.ts'

const npm = (folder: string, ...args: string[]) =>
  execFileSync('npm', ['pack', '--ignore-scripts', ...args], {
    ...{ cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] },
  })

/** Packs a package whose dist/ was built, without npm's scripts, and returns the name of the file. */
export function packNpm(folder: string, out: string): string {
  const [packed] = JSON.parse(npm(folder, '--dry-run', '--json')) as [{ files: { path: string }[] }]
  const tracked = new Set(
    execFileSync('git', ['ls-files'], { cwd: folder, encoding: 'utf8' }).trim().split('\n'),
  )
  const paths = packed.files
    .map(({ path }) => path)
    // npm also takes files that git ignores: a .env, a log.
    .filter((path) => path.startsWith('dist/') || tracked.has(path))
  const stage = stageFiles(folder, paths)
  if (folder === ROOT) writeInstalledManifest(stage)
  const name = npm(stage, '--silent', '--pack-destination', resolve(out)).trim()
  rmSync(stage, { recursive: true })
  return name
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

/** npm run build:package: the npm package, as a file. */
if (import.meta.main) {
  const { out } = parseArgs({ options: { out: { type: 'string', default: join(ROOT, 'dist') } } }).values
  process.stdout.write(`${join(out, packNpm(ROOT, out))}\n`)
}
