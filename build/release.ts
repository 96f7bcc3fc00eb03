import { execFileSync } from 'node:child_process'
import { createPrivateKey, createPublicKey, type KeyObject, sign } from 'node:crypto'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join, resolve, sep } from 'node:path'
import { ROOT } from './bundle.ts'
import { findPython } from './clients.ts'
import { findNodePackage, listNodePackages } from './node-binary.ts'
import { readArguments, toChoice } from './tool-arguments.ts'

const isInside = (path: string, folder: string) => `${path}${sep}`.startsWith(`${folder}${sep}`)

/** Why files cannot be written to a folder, which is emptied first. */
export function outProblem(out: string, root = ROOT): string | undefined {
  if (!existsSync(out)) return undefined
  if (isInside(realpathSync(root), realpathSync(out)))
    return `--out ${out} has the checkout in it, and would be deleted. Name another folder.`
  const names = readdirSync(out)
  if (names.length === 0 || names.includes('SHA256SUMS')) return undefined
  return `--out ${out} is not empty and is no release: it has no SHA256SUMS. Name another folder, or empty it.`
}

/** The key is read before the build, which takes minutes. */
export function readReleaseKey(file: string, root = ROOT): KeyObject {
  if (isInside(realpathSync(file), realpathSync(root)))
    throw new Error(
      `The key of TABBAT_RELEASE_KEY is in the checkout, ${root}. Move it elsewhere: it could be committed, or packed.`,
    )
  const key = createPrivateKey(readFileSync(file))
  if (key.asymmetricKeyType === 'ed25519') return key
  throw new Error(
    'The file of TABBAT_RELEASE_KEY is no Ed25519 key. Make one outside of the checkout: openssl genpkey -algorithm ed25519 -out ~/release.key',
  )
}

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

/** Builds the commit in a new folder, from what git and the lock file name, and from nothing else that lies in this checkout. */
function buildCommit(commit: string, targets: readonly string[], out: string): void {
  const place = mkdtempSync(join(tmpdir(), 'tabbat-release-'))
  const run = (file: string, args: readonly string[], env = process.env) =>
    execFileSync(file, args, { cwd: place, env, stdio: ['ignore', 'ignore', 'inherit'] })
  try {
    run('git', ['clone', '--quiet', '--no-checkout', ROOT, '.'])
    run('git', ['checkout', '--quiet', '--detach', commit])
    run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'])
    const { name } = findNodePackage(`${process.platform}-${process.arch}`)
    const node = join(place, 'node_modules', name, 'bin/node')
    // npm, which packs, runs on the same Node.js.
    const env = { ...process.env, PATH: `${dirname(node)}${delimiter}${process.env.PATH}` }
    const files = join(place, 'dist/release')
    const args = targets.flatMap((target) => ['--target', target])
    run(node, ['build/release-files.ts', '--out', files, ...args], env)
    rmSync(out, { recursive: true, force: true })
    mkdirSync(dirname(out), { recursive: true })
    cpSync(files, out, { recursive: true })
  } finally {
    rmSync(place, { recursive: true, force: true })
  }
}

function signSums(out: string, key: KeyObject): void {
  writeFileSync(join(out, 'SHA256SUMS.sig'), sign(null, readFileSync(join(out, 'SHA256SUMS')), key))
  writeFileSync(join(out, 'release.pub'), createPublicKey(key).export({ type: 'spki', format: 'pem' }))
}

const TARGET =
  '  --target TARGET  executables for this machine; may be repeated (default: linux-x64 and linux-arm64)'
const HELP = `npm run build:release -- [options]

Makes the files of a release in one folder, by release-files.ts in a new clone of the last commit. With TABBAT_RELEASE_KEY, the
file of a key, SHA256SUMS is signed.

  --out FOLDER     where to (default dist/release); what is there is replaced
${TARGET}
  --commit COMMIT  another commit`

const TARGETS = {
  type: 'string' as const,
  multiple: true as const,
  default: ['linux-x64', 'linux-arm64'],
}

const refuseTargets = (targets: readonly string[]) =>
  targets.map((target) => toChoice('--target', target, [...listNodePackages().keys()]))

const TWICE = `npm run build:check -- [options]

Makes the release of the last commit twice, in folders with different names and different settings of time zone, language and file
rights, and compares the bytes.

${TARGET}`

/** The arguments of check-twice.ts. */
export function readTargets(): readonly string[] {
  return refuseTargets(readArguments(TWICE, { target: TARGETS }).values.target)
}

function release(): void {
  const { values } = readArguments(HELP, {
    out: { type: 'string', default: join(ROOT, 'dist/release') },
    target: TARGETS,
    commit: { type: 'string' },
  })
  refuseTargets(values.target)
  const out = resolve(values.out)
  const problem = outProblem(out)
  if (problem !== undefined) throw new Error(problem)
  const keyFile = process.env.TABBAT_RELEASE_KEY
  const key = keyFile === undefined ? undefined : readReleaseKey(keyFile)
  findPython()
  buildCommit(values.commit ?? readCommit(), values.target, out)
  if (key) signSums(out, key)
  process.stdout.write(readFileSync(join(out, 'SHA256SUMS'), 'utf8'))
}

if (import.meta.main)
  try {
    release()
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : error}\n`)
    process.exitCode = 1
  }
