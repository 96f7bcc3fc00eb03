import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { gzipSync } from 'node:zlib'

const DIST = join(import.meta.dirname, 'dist')

/** Without the development tools, as in an installation for production from a checkout. */
function hasTools(): boolean {
  try {
    return import.meta.resolve('marked') !== ''
  } catch {
    return false
  }
}

/** npm run docs: writes guide/dist, to open from the disk, with a gzip copy beside every text file, which is what the server sends. */
if (hasTools()) {
  const { createSite } = await import('./site.ts')
  const files = createSite(dirname(import.meta.dirname))
  rmSync(DIST, { recursive: true, force: true })
  mkdirSync(DIST)
  let [plain, packed] = [0, 0]
  for (const [name, content] of files) {
    writeFileSync(join(DIST, name), content)
    plain += Buffer.byteLength(content)
    if (name.endsWith('.png')) continue
    const gzip = gzipSync(content, { level: 9 })
    writeFileSync(join(DIST, `${name}.gz`), gzip)
    packed += gzip.length
  }
  process.stdout.write(`guide/dist: ${files.size} files, ${plain} bytes, text in gzip ${packed} bytes\n`)
} else
  process.stdout.write(
    'The guide was not built: its tools are not installed. Run npm ci without --omit=dev.\n',
  )
