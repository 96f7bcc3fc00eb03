import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import {
  findNode,
  findNodePackage,
  listNodePackages,
  type NodePackage,
  nodeProblem,
  toSha256,
  unpackNode,
} from './node-binary.ts'

const { values } = parseArgs({
  options: {
    all: { type: 'boolean', default: false },
    fetch: { type: 'boolean', default: false },
    from: { type: 'string', default: 'https://nodejs.org/dist' },
  },
})

const say = (line: string) => process.stdout.write(`${line}\n`)

async function download(url: string): Promise<Buffer> {
  const response = await fetch(url)
  if (!response.ok) throw new Error(`${url} answered with status ${response.status}`)
  return Buffer.from(await response.arrayBuffer())
}

/** The archive of nodejs.org is the one in its list and in ours, and its bin/node is the one of the npm package. */
async function compareWithOfficial(entry: NodePackage, folder: string): Promise<void> {
  const { archive, sha256 } = entry.official
  const place = `${values.from}/v${entry.version}`
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
  say(`${entry.name} ${entry.version}: bin/node is the one in ${place}/${archive}`)
}

/**
 * npm run build:check-node: compares the installed Node.js with build/node-checksums.json.
 * --all: the packages of all platforms, as the registry gives them. --fetch: also the archives of nodejs.org.
 */
const own = `${process.platform}-${process.arch}`
const chosen = values.all || values.fetch ? [...listNodePackages().values()] : [findNodePackage(own)]
const folder = mkdtempSync(join(tmpdir(), 'tabbat-node-'))
try {
  for (const entry of chosen) {
    const path = values.all || values.fetch ? unpackNode(entry, folder) : findNode(own, folder)
    const problem = nodeProblem(entry, path)
    if (problem !== undefined) throw new Error(problem)
    say(`${entry.name} ${entry.version}: bin/node is the one in build/node-checksums.json`)
    if (values.fetch) await compareWithOfficial(entry, folder)
  }
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`)
  process.exitCode = 1
} finally {
  rmSync(folder, { recursive: true, force: true })
}
