import { cpSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { bundleProgram, listAssetFiles, listPackageFolders, ROOT } from './bundle.ts'
import { toLicences } from './licences.ts'
import { listConsoleFolders, listNodeComponents, toSbom } from './sbom.ts'

const DIST = join(ROOT, 'dist')

/** Makes dist/: the program as plain JavaScript with all its files, for the npm package. */
rmSync(DIST, { recursive: true, force: true })
const built = await bundleProgram(DIST)
for (const path of listAssetFiles()) cpSync(join(ROOT, path), join(DIST, 'assets', path))
const folders = [...listPackageFolders([built]), ...listConsoleFolders()]
writeFileSync(join(DIST, 'LICENSES.txt'), toLicences(folders))
writeFileSync(join(DIST, 'sbom.cdx.json'), toSbom(folders, listNodeComponents()))
process.stdout.write(`dist/: ${built.output.length} files\n`)
