import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  compareWithOfficial,
  findNode,
  findNodePackage,
  listNodePackages,
  nodeProblem,
  unpackNode,
} from './node-binary.ts'
import { readArguments } from './tool-arguments.ts'

const HELP = `npm run build:check-node -- [options]

Compares the installed Node.js with build/node-checksums.json.

  --all       the packages of all platforms, as the registry gives them
  --fetch     also the archives of nodejs.org
  --from URL  the archives of a mirror (default https://nodejs.org/dist)`

const { values } = readArguments(HELP, {
  all: { type: 'boolean', default: false },
  fetch: { type: 'boolean', default: false },
  from: { type: 'string', default: 'https://nodejs.org/dist' },
})

const say = (line: string) => process.stdout.write(`${line}\n`)

const own = `${process.platform}-${process.arch}`
const chosen = values.all || values.fetch ? [...listNodePackages().values()] : [findNodePackage(own)]
const folder = mkdtempSync(join(tmpdir(), 'tabbat-node-'))
try {
  for (const entry of chosen) {
    const path = values.all || values.fetch ? unpackNode(entry, folder) : findNode(own, folder)
    const problem = nodeProblem(entry, path)
    if (problem !== undefined) throw new Error(problem)
    say(`${entry.name} ${entry.version}: bin/node is the one in build/node-checksums.json`)
    if (values.fetch) say(await compareWithOfficial(entry, values.from, folder))
  }
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`)
  process.exitCode = 1
} finally {
  rmSync(folder, { recursive: true, force: true })
}
