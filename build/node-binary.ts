import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from './bundle.ts'

export type NodePackage = {
  readonly name: string
  readonly version: string
  readonly seen: { readonly package: string; readonly 'bin/node': string }
  readonly official: { readonly archive: string; readonly sha256: string; readonly signature: string }
}

/** The npm packages with Node.js, by the platform they are for: `linux-x64`. */
export function listNodePackages(): Map<string, NodePackage> {
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'build/node-checksums.json'), 'utf8')) as {
    packages: Readonly<Record<string, Omit<NodePackage, 'name'>>>
  }
  return new Map(
    Object.entries(packages).map(([name, entry]) => [
      name.replace(/^node-(bin-)?/, ''),
      { name, ...entry } satisfies NodePackage,
    ]),
  )
}

export function findNodePackage(platform: string): NodePackage {
  const packages = listNodePackages()
  const found = packages.get(platform)
  if (found) return found
  const known = [...packages.keys()].join(', ')
  throw new Error(
    `There is no Node.js for ${platform} in build/node-checksums.json. It has ${known}. On another platform, use the npm package.`,
  )
}

export const toSha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')

/** The path of a bin/node whose hash is the one in the list: the installed one, else the one of the package in `folder`. */
export function findNode(platform: string, folder: string): string {
  const entry = findNodePackage(platform)
  const installed = join(ROOT, 'node_modules', entry.name, 'bin/node')
  const path = existsSync(installed) ? installed : unpackNode(entry, folder)
  const problem = nodeProblem(entry, path)
  if (problem !== undefined) throw new Error(problem)
  return path
}

export function nodeProblem(entry: NodePackage, path: string): string | undefined {
  const expected = entry.seen['bin/node']
  const found = toSha256(readFileSync(path))
  if (found === expected) return undefined
  return `${path} is not the Node.js ${entry.version} of build/node-checksums.json: its SHA-256 is ${found}, and ${expected} is expected. Run npm ci to install it again. After a new version was chosen, compare it with nodejs.org (npm run build:check-node -- --fetch) and change the list.`
}

/** npm installs only the Node.js of its own platform. It downloads the others, and compares them with nothing. */
export function unpackNode({ name, version, seen }: NodePackage, folder: string): string {
  const target = join(folder, name)
  mkdirSync(target, { recursive: true })
  const quiet = ['--silent', '--ignore-scripts', '--pack-destination', target]
  execFileSync('npm', ['pack', ...quiet, `${name}@${version}`], { stdio: ['ignore', 'ignore', 'inherit'] })
  const [file = ''] = globSync(`${name}-*.tgz`, { cwd: target })
  const hash = createHash('sha512')
    .update(readFileSync(join(target, file)))
    .digest('base64')
  if (`sha512-${hash}` !== seen.package)
    throw new Error(
      `The registry gave another ${name} ${version} than build/node-checksums.json names. Do not use it. Its hash is sha512-${hash}.`,
    )
  execFileSync('tar', ['-xzf', join(target, file), '-C', target, 'package/bin/node'])
  return join(target, 'package/bin/node')
}

async function download(url: string): Promise<Buffer> {
  const response = await fetch(url).catch((cause: Error) => {
    throw new Error(`${url} cannot be reached. Nothing was compared.`, { cause })
  })
  if (!response.ok) throw new Error(`${url} answered with status ${response.status}`)
  return Buffer.from(await response.arrayBuffer())
}

/** Throws unless the archive of nodejs.org is the one in its list and in ours, and its bin/node is the one of the npm package. */
export async function compareWithOfficial(entry: NodePackage, from: string, folder: string): Promise<string> {
  const { archive, sha256 } = entry.official
  const place = `${from}/v${entry.version}`
  const list = (await download(`${place}/SHASUMS256.txt`)).toString()
  const listed = list.split('\n').find((line) => line.endsWith(`  ${archive}`))
  if (listed?.split(' ')[0] !== sha256)
    throw new Error(
      `${place}/SHASUMS256.txt has another checksum of ${archive} than build/node-checksums.json`,
    )
  const bytes = await download(`${place}/${archive}`)
  if (toSha256(bytes) !== sha256)
    throw new Error(`${place}/${archive} is not the file with the checksum ${sha256}`)
  const target = join(folder, `official-${entry.name}`)
  mkdirSync(target)
  writeFileSync(join(target, archive), bytes)
  const path = `${archive.replace(/\.tar\.gz$/, '')}/bin/node`
  execFileSync('tar', ['-xzf', join(target, archive), '-C', target, path])
  const problem = nodeProblem(entry, join(target, path))
  if (problem !== undefined) throw new Error(`npm's Node.js is not that of nodejs.org. ${problem}`)
  return `${entry.name} ${entry.version}: bin/node is the one in ${place}/${archive}`
}
