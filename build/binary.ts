import { execFileSync } from 'node:child_process'
import { chmodSync, copyFileSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { inject } from 'postject'
import { bundle, listAssetFiles, listPackageFolders, listWorkers, MAIN, ROOT, toLicences } from './bundle.ts'
import { listConsoleFolders, toNodeComponent, toSbom } from './sbom.ts'

/** Node.js searches its own file for this marker to find the embedded application. */
const FUSE = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2'

const { out } = parseArgs({ options: { out: { type: 'string', default: join(ROOT, 'dist') } } }).values
const NAME = `tabbat-${process.platform}-${process.arch}`
const BINARY = join(out, NAME)
const SBOM = join(out, `sbom-${process.platform}-${process.arch}.cdx.json`)
const WORK = join(out, 'binary-parts')

/** One CommonJS file: nothing can be imported from inside the executable. */
const toFile = (input: string, file: string) =>
  bundle(input, { file: join(WORK, file), format: 'cjs', codeSplitting: false, minify: true })

/** Makes dist/tabbat-<os>-<arch>: Node.js with the program, the console and the catalogue inside. */
rmSync(WORK, { recursive: true, force: true })
mkdirSync(WORK, { recursive: true })
const built = [await toFile(MAIN, 'main.cjs')]
for (const [name, file] of listWorkers()) built.push(await toFile(file, `${name}.cjs`))
const folders = [...listPackageFolders(built), ...listConsoleFolders()]
writeFileSync(join(WORK, 'LICENSES.txt'), toLicences(folders))
writeFileSync(SBOM, toSbom(folders, [toNodeComponent()]))

const assets = Object.fromEntries([
  ...listAssetFiles().map((path) => [path, join(ROOT, path)]),
  ...listWorkers().map(([name]) => [`worker/${name}.cjs`, join(WORK, `${name}.cjs`)]),
  ['LICENSES.txt', join(WORK, 'LICENSES.txt')],
])
const blob = join(WORK, 'tabbat.blob')
const config = {
  main: join(WORK, 'main.cjs'),
  output: blob,
  assets,
  disableExperimentalSEAWarning: true,
  useCodeCache: true,
}
writeFileSync(join(WORK, 'sea.json'), JSON.stringify(config))
execFileSync(process.execPath, ['--experimental-sea-config', join(WORK, 'sea.json')], { stdio: 'ignore' })

rmSync(BINARY, { force: true })
copyFileSync(process.execPath, BINARY)
chmodSync(BINARY, 0o755)
const isMac = process.platform === 'darwin'
if (isMac) execFileSync('codesign', ['--remove-signature', BINARY])
await inject(BINARY, 'NODE_SEA_BLOB', readFileSync(blob), {
  sentinelFuse: FUSE,
  ...(isMac && { machoSegmentName: 'NODE_SEA' }),
})
if (isMac) execFileSync('codesign', ['--sign', '-', BINARY])
rmSync(WORK, { recursive: true })
process.stdout.write(`${BINARY}: ${Math.round(statSync(BINARY).size / 1e6)} MB\n`)
