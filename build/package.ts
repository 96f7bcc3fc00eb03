import { cpSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { bundle, listAssetFiles, listPackageFolders, listWorkers, MAIN, ROOT, toLicences } from './bundle.ts'
import { listConsoleFolders, listNodeComponents, toSbom } from './sbom.ts'

const DIST = join(ROOT, 'dist')

/** Makes dist/: the program as plain JavaScript with all its files, for `npm pack` and for containers. */
rmSync(DIST, { recursive: true, force: true })
const workers = listWorkers().map(([name, file]) => [`worker-${name}`, file])
const built = await bundle(
  { main: MAIN, ...Object.fromEntries(workers) },
  { dir: DIST, format: 'esm', entryFileNames: '[name].js', chunkFileNames: '[name]-[hash].js' },
)
for (const path of listAssetFiles()) cpSync(join(ROOT, path), join(DIST, 'assets', path))
const folders = [...listPackageFolders([built]), ...listConsoleFolders()]
writeFileSync(join(DIST, 'LICENSES.txt'), toLicences(folders))
writeFileSync(join(DIST, 'sbom.cdx.json'), toSbom(folders, listNodeComponents()))
process.stdout.write(`dist/: ${built.output.length} files\n`)
