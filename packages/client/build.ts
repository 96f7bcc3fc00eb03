import { execFileSync } from 'node:child_process'
import { globSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { rolldown } from 'rolldown'

const FOLDER = import.meta.dirname
const DIST = join(FOLDER, 'dist')

/** Makes dist/: one JavaScript file, and the declarations of all files. */
rmSync(DIST, { recursive: true, force: true })
const bundle = await rolldown({ input: join(FOLDER, 'src/index.ts'), platform: 'neutral' })
// Not minified: Node.js prints the line of an uncaught error, which would be the whole file.
await bundle.write({ file: join(DIST, 'index.js'), format: 'esm', comments: false })
await bundle.close()
const settings = ['--noEmit', 'false', '--declaration', '--emitDeclarationOnly', '--outDir', DIST]
execFileSync('npx', ['tsc', '-p', FOLDER, ...settings], { stdio: 'inherit' })
for (const file of globSync(join(DIST, '*.d.ts')))
  writeFileSync(file, readFileSync(file, 'utf8').replaceAll(/(from '\.\/[\w-]+)\.ts'/g, "$1.js'"))
const { length } = gzipSync(readFileSync(join(DIST, 'index.js')), { level: 9 })
process.stdout.write(`packages/client/dist/index.js: ${length} bytes in gzip\n`)
