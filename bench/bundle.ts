import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { ROOT } from './checkout.ts'

/** Builds dist/ from this checkout, as `npm run build` does: what the package and the containers run. Its main file. */
export function buildBundle(): string {
  execFileSync(process.execPath, [join(ROOT, 'build/package.ts')], { stdio: 'ignore' })
  return join(ROOT, 'dist/main.js')
}
