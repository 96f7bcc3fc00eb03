import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from './bundle.ts'
import { findPython, type Python, packPhp, packPython } from './clients.ts'
import { findNodePackage, toSha256 } from './node-binary.ts'
import { toProvenance } from './provenance.ts'
import { packNpm } from './tarball.ts'
import { readArguments } from './tool-arguments.ts'

const { out, target: targets } = readArguments('release.ts runs this in a new clone.', {
  out: { type: 'string', default: '' },
  target: { type: 'string', multiple: true, default: [] },
}).values

const run = (file: string, ...args: string[]) =>
  execFileSync(process.execPath, [file, ...args], { cwd: ROOT, stdio: ['ignore', 'ignore', 'inherit'] })

function build(python: Python): void {
  run('console/build.ts')
  run('guide/build.ts')
  run('build/package.ts')
  run('packages/client/build.ts')
  mkdirSync(out, { recursive: true })
  packNpm(ROOT, out)
  packNpm(join(ROOT, 'packages/client'), out)
  packPhp(out)
  packPython(out, python)
  for (const target of targets) {
    run('build/binary.ts', '--out', out, '--target', target)
    if (target.startsWith('linux-')) run('build/deb.ts', '--from', out, '--out', out, '--target', target)
  }
}

/**
 * The npm packages, the clients for PHP and Python, the executables, the Debian packages, their lists of libraries and licences,
 * provenance.json and SHA256SUMS. It is run by release.ts, in a new clone.
 */
const python = findPython()
build(python)
const commit = execFileSync('git', ['rev-parse', 'HEAD'], { cwd: ROOT, encoding: 'utf8' }).trim()
const toSum = (name: string) => ({ name, sha256: toSha256(readFileSync(join(out, name))) })
const outputs = readdirSync(out).toSorted().map(toSum)
const nodes = targets.map(findNodePackage)
writeFileSync(join(out, 'provenance.json'), toProvenance({ commit, targets, nodes, python, outputs }))
const sums = [...outputs, toSum('provenance.json')].map(({ name, sha256 }) => `${sha256}  ${name}\n`)
writeFileSync(join(out, 'SHA256SUMS'), sums.join(''))
