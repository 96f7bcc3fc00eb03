import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { rolldown } from 'rolldown'
import { listPackageFolders, listWorkers, MAIN, ROOT, toRolldownOptions } from './bundle.ts'

type LockedPackage = {
  readonly version: string
  readonly integrity?: string
  readonly license?: string
}

const readJson = <T>(path: string) => JSON.parse(readFileSync(join(ROOT, path), 'utf8')) as T

/**
 * The libraries inside the bundle and the page, as CycloneDX: a scanner finds no node_modules in what is installed. Names come
 * from what was bundled, versions and hashes from the lockfile. There is no time and no random number in it: the same sources
 * give the same bytes.
 */
export function toSbom(folders: readonly string[], more: readonly object[] = []): string {
  const { packages } = readJson<{ packages: Readonly<Record<string, LockedPackage>> }>('package-lock.json')
  const { name, version, license, description } = readJson<Record<string, string>>('package.json')
  const components = [...new Set(folders.map((folder) => toComponent(folder, packages)).map(toText))]
    .toSorted()
    .map((text) => JSON.parse(text) as { readonly 'bom-ref': string })
    .concat(more as { readonly 'bom-ref': string }[])
  const ref = `pkg:npm/${name}@${version}`
  const sbom = {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: {
      component: {
        ...{ type: 'application', 'bom-ref': ref, name, version, description, purl: ref },
        licenses: [{ license: { id: license } }],
      },
    },
    components,
    dependencies: [{ ref, dependsOn: components.map((component) => component['bom-ref']) }],
  }
  return `${JSON.stringify(sbom, undefined, 2)}\n`
}

const toText = (value: object) => JSON.stringify(value)

function toComponent(folder: string, packages: Readonly<Record<string, LockedPackage>>) {
  const path = folder.slice(folder.indexOf('/node_modules/') + 1)
  const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)
  const locked = packages[path]
  if (!locked) throw new Error(`${path} is bundled, and is not in package-lock.json`)
  const { version, integrity, license } = locked
  // The at sign of a scope is percent-encoded in a package URL.
  const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`
  return {
    ...{ type: 'library', 'bom-ref': purl, name, version, purl },
    ...(license !== undefined && { licenses: [toLicense(license)] }),
    ...(integrity !== undefined && { hashes: [toHash(integrity)] }),
  }
}

/** Of the package as npm fetches it. */
const toHash = (integrity: string) => ({
  alg: 'SHA-512',
  content: Buffer.from(integrity.replace(/^sha512-/, ''), 'base64').toString('hex'),
})

const toLicense = (text: string) => (/\s/.test(text) ? { expression: text } : { license: { id: text } })

/** Node.js, which is inside the single executable. */
export function toNodeComponent() {
  const { node: version } = process.versions
  const purl = `pkg:generic/node@${version}`
  const cpe = `cpe:2.3:a:nodejs:node.js:${version}:*:*:*:*:*:*:*`
  return { type: 'platform', 'bom-ref': purl, name: 'node', version, purl, cpe }
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

/** npm run sbom: writes the file without building anything else. */
if (import.meta.main) {
  const input = { main: MAIN, ...Object.fromEntries(listWorkers()) }
  const build = await rolldown(toRolldownOptions(input))
  const output = await build.generate({ format: 'esm' })
  await build.close()
  const path = join(ROOT, 'dist/sbom.cdx.json')
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, toSbom([...listPackageFolders([output]), ...listConsoleFolders()]))
  process.stdout.write('dist/sbom.cdx.json\n')
}
