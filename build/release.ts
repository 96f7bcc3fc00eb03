import { execFileSync } from 'node:child_process'
import { createPrivateKey, createPublicKey, type KeyObject, sign } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { ROOT } from './bundle.ts'
import { findPython, type Python, packPhp, packPython } from './clients.ts'
import { findNodePackage, toSha256 } from './node-binary.ts'
import { toProvenance } from './provenance.ts'
import { packNpm } from './tarball.ts'

const { out, target } = parseArgs({
  options: {
    out: { type: 'string', default: join(ROOT, 'dist/release') },
    target: { type: 'string', multiple: true, default: ['linux-x64', 'linux-arm64'] },
  },
}).values
const OUT = resolve(out)

const run = (file: string, args: readonly string[], cwd = ROOT) =>
  execFileSync(file, args, { cwd, stdio: ['ignore', 'ignore', 'inherit'] })

/** A release is made from a commit, which the statement names. */
function readCommit(): string {
  const git = (...args: string[]) => execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).trim()
  const changes = git('status', '--porcelain')
  if (changes !== '')
    throw new Error(
      `There are changes that are not committed. Commit or remove them: a release is made from a commit.\n${changes}`,
    )
  return git('rev-parse', 'HEAD')
}

/** The key is read before the build, which takes a minute. */
function readReleaseKey(): KeyObject | undefined {
  const file = process.env.TABBAT_RELEASE_KEY
  if (file === undefined) return undefined
  const key = createPrivateKey(readFileSync(file))
  if (key.asymmetricKeyType === 'ed25519') return key
  throw new Error(
    'The file of TABBAT_RELEASE_KEY is no Ed25519 key. Make one: openssl genpkey -algorithm ed25519 -out release.key',
  )
}

function build(python: Python): void {
  rmSync(OUT, { recursive: true, force: true })
  run(process.execPath, ['console/build.ts'])
  run(process.execPath, ['guide/build.ts'])
  run(process.execPath, ['build/package.ts'])
  run(process.execPath, ['packages/client/build.ts'])
  mkdirSync(OUT, { recursive: true })
  packNpm(ROOT, OUT)
  packNpm(join(ROOT, 'packages/client'), OUT)
  packPhp(OUT)
  packPython(OUT, python)
  for (const each of target) {
    run(process.execPath, ['build/binary.ts', '--out', OUT, '--target', each])
    if (each.startsWith('linux-'))
      run(process.execPath, ['build/deb.ts', '--from', OUT, '--out', OUT, '--target', each])
  }
}

/**
 * npm run build:release: the npm packages, the clients for PHP and Python, the executables, the Debian packages, their lists of libraries and licences, SHA256SUMS and
 * provenance.json in one folder.
 * With TABBAT_RELEASE_KEY, SHA256SUMS is signed.
 */
try {
  const [commit, key] = [readCommit(), readReleaseKey()]
  const nodes = target.map(findNodePackage)
  const python = findPython()
  build(python)
  const toSum = (name: string) => ({ name, sha256: toSha256(readFileSync(join(OUT, name))) })
  const outputs = readdirSync(OUT).toSorted().map(toSum)
  writeFileSync(
    join(OUT, 'provenance.json'),
    toProvenance({ commit, targets: target, nodes, python, outputs }),
  )
  const sums = [...outputs, toSum('provenance.json')]
    .map(({ name, sha256 }) => `${sha256}  ${name}\n`)
    .join('')
  writeFileSync(join(OUT, 'SHA256SUMS'), sums)
  if (key) {
    writeFileSync(join(OUT, 'SHA256SUMS.sig'), sign(null, Buffer.from(sums), key))
    writeFileSync(join(OUT, 'release.pub'), createPublicKey(key).export({ type: 'spki', format: 'pem' }))
  }
  process.stdout.write(sums)
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`)
  process.exitCode = 1
}
