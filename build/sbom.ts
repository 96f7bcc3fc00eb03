import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { rolldown } from 'rolldown'
import { listPackageFolders, listWorkers, MAIN, ROOT, toRolldownOptions } from './bundle.ts'
import { licenceProblems } from './licences.ts'
import { type LockedPackage, listDependencies, readLock } from './lock-file.ts'
import type { NodePackage } from './node-binary.ts'
import { readArguments } from './tool-arguments.ts'

type Component = { readonly 'bom-ref': string; readonly [field: string]: unknown }
type Part = { readonly path: string; readonly component: Component }

/**
 * The libraries inside the bundle and the page, as CycloneDX: a scanner finds no node_modules in what is installed. Names come
 * from what was bundled, versions, hashes and who needs whom from the lock file. There is no time and no random number in it: the
 * same sources give the same bytes.
 */
export function toSbom(folders: readonly string[], more: readonly Component[] = []): string {
  const paths = [...new Set(folders.map((folder) => folder.slice(folder.indexOf('/node_modules/') + 1)))]
  refuseLicences(paths)
  return toDocument(
    paths.map((path) => ({ path, component: toComponent(path, 'required') })),
    more,
  )
}

/** Every package of the lock file, for who builds and tests. What is not bundled is marked as excluded from the product. */
function toDevelopmentSbom(bundled: ReadonlySet<string>): string {
  const { packages } = readLock()
  const paths = Object.keys(packages).filter(
    (path) => path.startsWith('node_modules/') && !packages[path]?.link,
  )
  return toDocument(paths.map((path) => ({ path, component: toComponent(path, toScope(path, bundled)) })))
}

const toScope = (path: string, bundled: ReadonlySet<string>) => {
  if (bundled.has(path)) return 'required'
  return readLock().packages[path]?.dev === true ? 'excluded' : 'optional'
}

function toDocument(parts: readonly Part[], more: readonly Component[] = []): string {
  const { name, version, license, description } = JSON.parse(
    readFileSync(join(ROOT, 'package.json'), 'utf8'),
  ) as Record<string, string>
  const ref = `pkg:npm/${name}@${version}`
  // A package may be installed twice in one version.
  const components = new Map(
    [...parts.map(({ component }) => component), ...more].map((each) => [each['bom-ref'], each]),
  )
  const sbom = {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: {
      lifecycles: [{ phase: 'build' }],
      component: {
        ...{ type: 'application', 'bom-ref': ref, name, version, description, purl: ref },
        licenses: [{ license: { id: license } }],
      },
    },
    components: [...components.keys()].toSorted().map((each) => components.get(each)),
    dependencies: toGraph(ref, parts, more),
  }
  return `${JSON.stringify(sbom, undefined, 2)}\n`
}

/** Who needs whom. The root needs its direct dependencies, and what no other listed package needs. */
function toGraph(root: string, parts: readonly Part[], more: readonly Component[]): object[] {
  const refs = new Map(parts.map(({ path, component }) => [path, component['bom-ref']]))
  const toRefs = (path: string) => listDependencies(path).flatMap((each) => refs.get(each) ?? [])
  const edges = new Map<string, Set<string>>()
  for (const { path, component } of parts) {
    const ref = component['bom-ref']
    edges.set(ref, new Set([...(edges.get(ref) ?? []), ...toRefs(path)]))
  }
  const needed = new Set([...edges].flatMap(([ref, to]) => [...to].filter((each) => each !== ref)))
  const orphans = [...edges.keys()].filter((ref) => !needed.has(ref))
  const others = more.map((component) => component['bom-ref'])
  for (const ref of others) edges.set(ref, new Set())
  edges.set(root, new Set([...toRefs(''), ...orphans, ...others]))
  return [...edges.keys()]
    .toSorted()
    .map((ref) => ({ ref, dependsOn: [...(edges.get(ref) ?? [])].filter((each) => each !== ref).toSorted() }))
}

function toComponent(path: string, scope: string): Component {
  const locked = readLock().packages[path]
  if (!locked) throw new Error(`${path} is bundled, and is not in package-lock.json`)
  // The name differs from the folder where package.json gives a package another name.
  const full = locked.name ?? path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)
  const [name = '', group] = full.split('/').toReversed()
  // The at sign of a scope is percent-encoded in a package URL.
  const purl = `pkg:npm/${full.replace('@', '%40')}@${locked.version}`
  return {
    ...{ type: 'library', 'bom-ref': purl, ...(group !== undefined && { group }), name },
    ...{ version: locked.version, scope, ...toHashes(locked), ...toLicences(locked), purl },
  }
}

/** Of the package as npm fetches it. */
const toHashes = ({ integrity }: LockedPackage) =>
  integrity === undefined
    ? {}
    : {
        hashes: [
          {
            alg: 'SHA-512',
            content: Buffer.from(integrity.replace(/^sha512-/, ''), 'base64').toString('hex'),
          },
        ],
      }

const toLicences = ({ license }: LockedPackage) => {
  if (license === undefined) return {}
  return { licenses: [/\s/.test(license) ? { expression: license } : { license: { id: license } }] }
}

/** Node.js, which is inside the single executable. The licences of the libraries inside it are in LICENSES.txt. */
export function toNodeComponent({ version, seen }: NodePackage): Component {
  const purl = `pkg:generic/node@${version}`
  return {
    ...{ type: 'platform', 'bom-ref': purl, name: 'node', version, scope: 'required' },
    hashes: [{ alg: 'SHA-256', content: seen['bin/node'] }],
    licenses: [{ license: { id: 'MIT' } }],
    cpe: `cpe:2.3:a:nodejs:node.js:${version}:*:*:*:*:*:*:*`,
    purl,
  }
}

const listNodePaths = (): string[] =>
  Object.keys(readLock().packages[''].optionalDependencies).map((name) => `node_modules/${name}`)

/** The Node.js that npm installs beside the package. */
export function listNodeComponents(): Component[] {
  refuseLicences(listNodePaths())
  return listNodePaths().map((path) => toComponent(path, 'optional'))
}

function refuseLicences(paths: readonly string[]): void {
  const problems = licenceProblems(paths, 'shipped')
  if (problems.length > 0) throw new Error(problems.join('\n'))
}

const IMPORTS = /(?:from |import |import\(|@import )['"]((?:@[^/'"]+\/)?[^./'"][^/'"]*)/g

/** The libraries of the page. Vite has put them into its files, which do not name them. */
export function listConsoleFolders(): string[] {
  const files = globSync('console/src/**/*.{ts,tsx,css}', { cwd: ROOT })
  const names = files.flatMap((file) =>
    [...readFileSync(join(ROOT, file), 'utf8').matchAll(IMPORTS)].map(([, name = '']) => name),
  )
  return [...new Set(names)].map((name) => join(ROOT, 'node_modules', name)).toSorted()
}

async function listBundledFolders(): Promise<string[]> {
  const input = { main: MAIN, ...Object.fromEntries(listWorkers()) }
  const build = await rolldown(toRolldownOptions(input))
  const output = await build.generate({ format: 'esm' })
  await build.close()
  return [...listPackageFolders([output]), ...listConsoleFolders()]
}

const HELP = `npm run sbom -- [options]

Writes dist/sbom.cdx.json and dist/sbom-development.cdx.json, without building anything else.

  --check  write nothing, and only compare the licences with the list`

if (import.meta.main) {
  const { check } = readArguments(HELP, { check: { type: 'boolean', default: false } }).values
  const folders = await listBundledFolders()
  const bundled = folders.map((folder) => folder.slice(folder.indexOf('/node_modules/') + 1))
  const locked = Object.keys(readLock().packages)
  const shipped = [...bundled, ...listNodePaths()]
  const problems = [...licenceProblems(shipped, 'shipped'), ...licenceProblems(locked, 'development')]
  for (const problem of problems) process.stderr.write(`${problem}\n`)
  if (problems.length > 0) process.exit(1)
  if (check) process.stdout.write(`The licences of ${locked.length} packages are on the list.\n`)
  else {
    mkdirSync(join(ROOT, 'dist'), { recursive: true })
    writeFileSync(join(ROOT, 'dist/sbom.cdx.json'), toSbom(folders, listNodeComponents()))
    writeFileSync(join(ROOT, 'dist/sbom-development.cdx.json'), toDevelopmentSbom(new Set(bundled)))
    process.stdout.write('dist/sbom.cdx.json\ndist/sbom-development.cdx.json\n')
  }
}
