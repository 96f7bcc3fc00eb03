import { execFileSync } from 'node:child_process'
import { chownSync, existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { readArguments } from '../../build/tool-arguments.ts'
import { SANDBOX_KEY } from '../../src/keys/sandbox-key.ts'
import { findProgram, runInBackground, waitUntil, whyMissing } from '../cluster/programs.ts'
import { findFreePort } from '../free-port.ts'

const HELP = `npm run battery:container -- [options]

Builds deploy/Containerfile with buildah on a Debian of its own (debootstrap), and runs the image as its user with a read-only
root. Needs root, and a network for the packages of Debian and npm.

  --base FOLDER  keep the Debian in this folder, for the next run`

const { values } = readArguments(HELP, { base: { type: 'string' } })

const USER = 10001
const IMAGES = { base: 'localhost/tabbat-base', build: 'localhost/tabbat-build', tabbat: 'localhost/tabbat' }
const AUTHORITIES = '/etc/ssl/certs/ca-certificates.crt'
const say = (line: string) => console.log(`${new Date().toISOString().slice(11, 19)}  ${line}`)
const run = (command: string, args: readonly string[], stdio: 'inherit' | 'pipe' = 'pipe') =>
  execFileSync(findProgram(command) ?? command, args, {
    stdio: ['ignore', stdio, stdio],
    encoding: 'utf8',
    env: { ...process.env, BUILDAH_ISOLATION: 'chroot' },
    maxBuffer: 1e9,
  })?.trim()
const buildah = (...args: string[]) => run('buildah', ['--storage-driver', 'vfs', ...args])

const isRoot = process.getuid?.() === 0
// What was started ends with this process.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1))
const missing = whyMissing('buildah', 'debootstrap', 'chroot') ?? (isRoot ? undefined : 'root is needed')
if (missing !== undefined) say(`The battery of the container is skipped: ${missing}`)
else await buildAndRun()
process.exit()

async function buildAndRun(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'tabbat-container-'))
  const debian = values.base ?? join(folder, 'debian')
  if (!existsSync(join(debian, 'etc'))) {
    say('debootstrap')
    run('debootstrap', ['--variant=minbase', 'bookworm', debian])
  }
  say('base images')
  commit('scratch', IMAGES.base, [[debian, '/']])
  createBuildBase()
  say('build')
  const bases = ['--build-arg', `BASE=${IMAGES.base}`, '--build-arg', `BUILD_BASE=${IMAGES.build}`]
  buildah('build', '--format', 'docker', ...bases, '-f', 'deploy/Containerfile', '-t', IMAGES.tabbat, '.')
  const container = buildah('from', IMAGES.tabbat)
  const root = buildah('mount', container)
  try {
    say(`${run('du', ['-sh', join(root, 'usr/local/bin/tabbat')])}`)
    await serve(root, folder)
    say('as wanted')
  } finally {
    buildah('rm', container)
    rmSync(folder, { recursive: true, force: true })
  }
}

function commit(from: string, image: string, copies: readonly (readonly [string, string])[]): void {
  const container = buildah('from', from)
  for (const [source, target] of copies) buildah('copy', container, source, target)
  if (image === IMAGES.build) {
    buildah('run', container, 'ln', '-sf', '../lib/node_modules/npm/bin/npm-cli.js', '/usr/bin/npm')
    buildah('config', '--env', `NODE_EXTRA_CA_CERTS=${AUTHORITIES}`, container)
  }
  buildah('commit', container, image)
  buildah('rm', container)
}

/** In place of the image `node`: this machine's Node.js, npm and certificate authorities. */
function createBuildBase(): void {
  const npm = dirname(dirname(realpathSync(findProgram('npm') ?? '')))
  commit(IMAGES.base, IMAGES.build, [
    [realpathSync(process.execPath), '/usr/bin/node'],
    [npm, '/usr/lib/node_modules/npm'],
    ...(existsSync(AUTHORITIES) ? ([[AUTHORITIES, AUTHORITIES]] as const) : []),
  ])
}

/** The image as a container would run it: its own root, read-only, its user, a volume for the data. */
async function serve(image: string, folder: string): Promise<void> {
  const [root, data] = [join(folder, 'root'), join(folder, 'data')]
  for (const path of [root, data]) mkdirSync(path)
  chownSync(data, USER, USER)
  run('mount', ['--bind', image, root])
  run('mount', ['-o', 'remount,bind,ro', root])
  run('mount', ['--bind', data, join(root, 'var/lib/tabbat')])
  const port = await findFreePort()
  const env = {
    TABBAT_PORT: String(port),
    TABBAT_ADMIN_PORT: 'off',
    TABBAT_DATA_DIR: '/var/lib/tabbat',
    HOME: '/',
  }
  const inside = ['--userspec', `${USER}:${USER}`, root, '/usr/local/bin/tabbat']
  const server = runInBackground('chroot', [...inside, 'serve'], { env })
  try {
    const url = `http://127.0.0.1:${port}`
    await waitUntil('the server is ready', async () => (await fetch(`${url}/health/ready?strict`)).ok)
    const reply = await fetch(`${url}/api/v2/kyc/verify-nin`, {
      method: 'POST',
      headers: { authorization: `Bearer ${SANDBOX_KEY}`, 'content-type': 'application/json' },
      body: JSON.stringify({ nin: '12345678901', phone: '08031234567' }),
    })
    if (reply.status !== 200) throw new Error(`verify-nin: ${reply.status}`)
    await server.stop('SIGINT')
    if (server.child.exitCode !== 0) throw new Error(`exit code ${server.child.exitCode}: ${server.output()}`)
  } finally {
    server.child.kill('SIGKILL')
    for (const path of [join(root, 'var/lib/tabbat'), root]) run('umount', [path])
  }
}
