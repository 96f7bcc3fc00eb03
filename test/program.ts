import { createHash } from 'node:crypto'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { bundleProgram, ROOT } from '../build/bundle.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** The folder of the bundled program of this run. */
    readonly program: string
  }
}

const MODULES = join(ROOT, 'node_modules')
const PREFIX = '.tabbat-'
const DAY_MS = 86_400_000

/**
 * Bundles the program once for a run of the tests; Vitest calls this before them. A command of the bundle takes half the
 * processor time of one of the checkout, and so does a worker thread: they load a few files instead of hundreds.
 */
export async function setup(project: TestProject): Promise<void> {
  const folder = mkdtempSync(join(MODULES, `${PREFIX}new-`))
  // Some tests run it as another user.
  chmodSync(folder, 0o755)
  const { output } = await bundleProgram(join(folder, 'dist'))
  // The files of the checkout itself: a change of one, and a console that is built later, are seen at once.
  symlinkSync(ROOT, join(folder, 'dist/assets'))
  // As in the package: else Node.js reads every file twice, to find out what it is.
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  mkdirSync(join(folder, 'bin'))
  copyFileSync(join(ROOT, 'bin/tabbat'), join(folder, 'bin/tabbat'))
  // The folder links to this checkout, and a copy of the checkout has a copy of it.
  const hash = createHash('sha256').update(ROOT)
  for (const file of output) hash.update(file.type === 'chunk' ? file.code : file.source)
  // Equal sources have one folder, and one compile cache. Another run may be using it.
  const place = join(MODULES, `${PREFIX}${hash.digest('hex').slice(0, 16)}`)
  if (existsSync(place)) rmSync(folder, { recursive: true })
  else renameSync(folder, place)
  removeOld(place)
  project.provide('program', place)
}

function removeOld(current: string): void {
  for (const name of globSync(`${PREFIX}*`, { cwd: MODULES })) {
    const folder = join(MODULES, name)
    if (folder !== current && Date.now() - statSync(folder).mtimeMs > DAY_MS)
      rmSync(folder, { recursive: true, force: true })
  }
}
