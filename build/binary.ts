import { execFileSync } from 'node:child_process'
import { chmodSync, copyFileSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { inject } from 'postject'
import { bundle, listAssetFiles, listPackageFolders, listWorkers, MAIN, ROOT } from './bundle.ts'
import { toLicences } from './licences.ts'
import { findNode, findNodePackage, listNodePackages } from './node-binary.ts'
import { listConsoleFolders, toNodeComponent, toSbom } from './sbom.ts'
import { readArguments, toChoice } from './tool-arguments.ts'

/** Node.js searches its own file for this marker to find the embedded application. */
const FUSE = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2'

const OWN = `${process.platform}-${process.arch}`
const HELP = `npm run build:binary -- [options]

Makes tabbat-<target>: Node.js with the program, the console and the catalogue inside.

  --out FOLDER     where to (default dist)
  --target TARGET  for another machine (default ${OWN}): ${[...listNodePackages().keys()].join(', ')}`

const { out, target } = readArguments(HELP, {
  out: { type: 'string', default: join(ROOT, 'dist') },
  target: { type: 'string', default: OWN },
}).values
toChoice('--target', target, [...listNodePackages().keys()])
const BINARY = join(out, `tabbat-${target}`)
const WORK = join(out, `binary-parts-${target}`)

/** One CommonJS file: nothing can be imported from inside the executable. */
const toFile = (input: string, file: string) =>
  bundle(input, { file: join(WORK, file), format: 'cjs', codeSplitting: false, minify: true })

/**
 * The application as one file for Node.js. The same sources give the same bytes: the path of main.cjs, which is inside, is not that
 * of the checkout, and the code cache of V8 does not depend on chance. Another processor could not use the cache.
 */
function writeBlob(): Buffer {
  const assets = Object.fromEntries([
    ...listAssetFiles().map((path) => [path, join(ROOT, path)]),
    ...listWorkers().map(([name]) => [`worker/${name}.cjs`, `${name}.cjs`]),
    ['LICENSES.txt', 'LICENSES.txt'],
  ])
  const config = {
    main: 'main.cjs',
    output: 'tabbat.blob',
    assets,
    disableExperimentalSEAWarning: true,
    useCodeCache: target === OWN,
    // As in bin/tabbat: without the flag, a SIGUSR1 during the start would open a debugger port.
    execArgv: ['--disable-sigusr1'],
  }
  writeFileSync(join(WORK, 'sea.json'), JSON.stringify(config))
  const flags = ['--random-seed=1', '--experimental-sea-config', 'sea.json']
  execFileSync(findNode(OWN, WORK), flags, { cwd: WORK, stdio: 'ignore' })
  return readFileSync(join(WORK, 'tabbat.blob'))
}

async function writeBinary(node: string, blob: Buffer): Promise<void> {
  rmSync(BINARY, { force: true })
  copyFileSync(node, BINARY)
  chmodSync(BINARY, 0o755)
  const isMac = process.platform === 'darwin'
  if (isMac) execFileSync('codesign', ['--remove-signature', BINARY])
  await inject(BINARY, 'NODE_SEA_BLOB', blob, {
    sentinelFuse: FUSE,
    ...(isMac && { machoSegmentName: 'NODE_SEA' }),
  })
  if (isMac) execFileSync('codesign', ['--sign', '-', BINARY])
}

/** The licences of Node.js and of the libraries inside it are the same on all platforms. */
const readNodeLicence = () =>
  `Node.js\n\n${readFileSync(join(ROOT, 'node_modules', findNodePackage(OWN).name, 'LICENSE'), 'utf8')}`

/** Why the executable cannot be made here. */
function targetError(): string | undefined {
  if (target === OWN) return undefined
  if (`${target}${OWN}`.includes('darwin'))
    return `The executable for ${target} cannot be made on ${OWN}: codesign of macOS is needed. Build it on ${target}.`
  if (findNodePackage(target).version === findNodePackage(OWN).version) return undefined
  return `The executable for ${target} cannot be made on ${OWN}: their versions of Node.js differ. Build it on ${target}.`
}

async function build(): Promise<void> {
  rmSync(WORK, { recursive: true, force: true })
  mkdirSync(WORK, { recursive: true })
  const node = findNode(target, WORK)
  const built = [await toFile(MAIN, 'main.cjs')]
  for (const [name, file] of listWorkers()) built.push(await toFile(file, `${name}.cjs`))
  const folders = [...listPackageFolders(built), ...listConsoleFolders()]
  const licences = `${toLicences(folders)}\n${'-'.repeat(80)}\n\n${readNodeLicence()}`
  writeFileSync(join(WORK, 'LICENSES.txt'), licences)
  writeFileSync(join(out, `licenses-${target}.txt`), licences)
  const sbom = toSbom(folders, [toNodeComponent(findNodePackage(target))])
  writeFileSync(join(out, `sbom-${target}.cdx.json`), sbom)
  await writeBinary(node, writeBlob())
}

/** Makes dist/tabbat-<os>-<arch>: Node.js with the program, the console and the catalogue inside. */
try {
  const problem = targetError()
  if (problem !== undefined) throw new Error(problem)
  await build()
  process.stdout.write(`${BINARY}: ${Math.round(statSync(BINARY).size / 1e6)} MB\n`)
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`)
  process.exitCode = 1
} finally {
  rmSync(WORK, { recursive: true, force: true })
}
