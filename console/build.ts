import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { gzipSync } from 'node:zlib'
import { readArguments } from '../build/tool-arguments.ts'

const HELP = `npm run build:console -- [options]

Builds the web page.

  --out FOLDER  where to (default console/dist)`

const { out: DIST } = readArguments(HELP, {
  out: { type: 'string', default: join(import.meta.dirname, 'dist') },
}).values
const say = (line: string) => process.stdout.write(`${line}\n`)

/** Writes a gzip copy beside every text file, so that the server never compresses. */
function compress(): void {
  for (const name of readdirSync(DIST, { recursive: true, encoding: 'utf8' })) {
    if (!/\.(js|css|html|svg)$/.test(name)) continue
    const packed = gzipSync(readFileSync(join(DIST, name)), { level: 9 })
    writeFileSync(join(DIST, `${name}.gz`), packed)
    say(`${relative(process.cwd(), join(DIST, name))}: ${packed.length} bytes in gzip`)
  }
}

const loadVite = () =>
  import('vite').catch((thrown: NodeJS.ErrnoException) => {
    if (thrown.code === 'ERR_MODULE_NOT_FOUND') return undefined
    throw thrown
  })

// Vite prefers that of the shell to its mode, and would then build a page for development, with the paths of this machine.
process.env.NODE_ENV = 'production'
const vite = await loadVite()
if (vite) {
  await vite.build({
    configFile: join(import.meta.dirname, 'vite.config.ts'),
    mode: 'production',
    build: { outDir: DIST },
    logLevel: 'warn',
  })
  compress()
} else say('The console was not built: Vite is not installed. Run npm ci without --omit=dev.')
