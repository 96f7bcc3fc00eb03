import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  copyFileSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findNodePackage, listNodePackages } from '../../build/node-binary.ts'
import { VERSION } from '../../src/version.ts'
import { runProgram } from '../process/tabbat.ts'
import { describeInstalled, itStartsInOneLine } from './installed.ts'

const PLATFORM = `${process.platform}-${process.arch}`
const folder = mkdtempSync(join(tmpdir(), 'tabbat-install-'))

/** Without the Node.js of the checkout, which the tests run on: that of a user may be older. */
const USERS_PATH = (process.env.PATH ?? '').split(':').filter((each) => !each.includes('node_modules'))

/** A PATH whose node does nothing: the package must bring its own. */
const PATH = [join(folder, 'broken'), ...USERS_PATH].join(':')

/** Returns what npm reports, without remarks about the settings of the machine. */
function npm(program: string, ...args: string[]): string[] {
  const env = { ...process.env, PATH: USERS_PATH.join(':') }
  const { status, stderr } = spawnSync(program, args, { encoding: 'utf8', env })
  if (status !== 0) throw new Error(`npm ${args.join(' ')}: ${stderr}`)
  return stderr.split('\n').filter((line) => line !== '' && !/Unknown (user|env) config/.test(line))
}

const QUIET = ['--no-audit', '--no-fund', '--prefer-offline']

const toTarball = () => join(folder, `tabbat-${VERSION}.tgz`)

function install(program: string, prefix: string): string[] {
  const production = ['--ignore-scripts', '--omit=dev', ...QUIET]
  return npm(program, 'install', '--global', '--prefix', join(folder, prefix), ...production, toTarball())
}

let reported: string[] = []

/** By .gitignore. */
const IGNORED = 'docs/ignored.log'

beforeAll(() => {
  mkdirSync(join(folder, 'broken'))
  writeFileSync(join(folder, 'broken/node'), '#!/bin/sh\nexit 1\n', { mode: 0o755 })
  // Without npm's scripts: they would rebuild the console while other tests use it.
  execFileSync(process.execPath, ['build/package.ts'], { stdio: 'ignore' })
  writeFileSync(IGNORED, '')
  execFileSync(process.execPath, ['build/tarball.ts', '--out', folder], { stdio: 'ignore' })
  rmSync(IGNORED)
  reported = install('npm', 'prefix')
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('installed with npm install -g --ignore-scripts --omit=dev', () => {
  it('was installed without a warning', () => expect(reported).toEqual([]))

  it('brings Node.js for this platform and nothing else, and no package with an install script', () => {
    const installed = globSync('prefix/lib/node_modules/tabbat/node_modules/{,@*/}*/package.json', {
      cwd: folder,
    })
    const manifests = installed.map(
      (path) => JSON.parse(readFileSync(join(folder, path), 'utf8')) as { name: string; scripts?: object },
    )
    expect(manifests.map(({ name }) => name)).toEqual([findNodePackage(PLATFORM).name])
    expect(manifests.flatMap(({ scripts }) => Object.keys(scripts ?? {}))).toEqual([])
  })

  it('has no scripts, which npm would warn about, and nothing of a checkout', () => {
    const manifest = join(folder, 'prefix/lib/node_modules/tabbat/package.json')
    const { scripts, devDependencies, workspaces, bin } = JSON.parse(
      readFileSync(manifest, 'utf8'),
    ) as Record<string, object>
    expect({ scripts, devDependencies, workspaces }).toEqual({})
    expect(bin).toEqual({ tabbat: 'bin/tabbat' })
  })

  it('has only files of git and of the build', () => {
    const packed = execFileSync('tar', ['-tzf', toTarball()], { encoding: 'utf8' }).trim().split('\n')
    const tracked = execFileSync('git', ['ls-files'], { encoding: 'utf8' }).trim().split('\n')
    const others = packed
      .map((path) => path.replace('package/', ''))
      .filter((path) => !path.startsWith('dist/') && !tracked.includes(path))
    expect(others).toEqual(['npm-shrinkwrap.json'])
  })

  it('has the same bytes when it is packed again, with other rights of files', () => {
    const again = mkdtempSync(join(folder, 'again-'))
    const line = 'umask 077; exec "$0" build/tarball.ts --out "$1"'
    execFileSync('sh', ['-c', line, process.execPath, again], { stdio: 'ignore' })
    expect(readFileSync(join(again, basename(toTarball()))).equals(readFileSync(toTarball()))).toBe(true)
  })

  it('lists every library that is inside, with its version', () => {
    const dist = join(folder, 'prefix/lib/node_modules/tabbat/dist')
    const { components } = JSON.parse(readFileSync(join(dist, 'sbom.cdx.json'), 'utf8')) as {
      components: { group?: string; name: string; version: string; scope: string; purl: string }[]
    }
    const inside = components
      .filter(({ scope }) => scope === 'required')
      .map(({ group, name, version }) => `${group === undefined ? '' : `${group}/`}${name} ${version}`)
    // The source maps say which files went into the bundle; the page has none.
    const sources = globSync('*.map', { cwd: dist }).flatMap(
      (file) => (JSON.parse(readFileSync(join(dist, file), 'utf8')) as { sources: string[] }).sources,
    )
    const folders = sources.flatMap(
      (path) => /node_modules\/(?:.*\/node_modules\/)?(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? [],
    )
    const console = ['preact', 'uplot', '@picocss/pico', '@simplewebauthn/browser', 'qr']
    const bundled = [...new Set([...folders, ...console.map((name) => `node_modules/${name}`)])].map(
      (path) => {
        const { name, version } = JSON.parse(readFileSync(`${path}/package.json`, 'utf8')) as Record<
          string,
          string
        >
        return `${name} ${version}`
      },
    )
    expect(bundled.length).toBeGreaterThan(40)
    expect(bundled.filter((each) => !inside.includes(each))).toEqual([])
    expect(inside.filter((each) => !bundled.includes(each))).toEqual([])
    const licences = readFileSync(join(dist, 'LICENSES.txt'), 'utf8')
    expect(inside.filter((each) => !licences.includes(`${each} (`))).toEqual([])
    const beside = components.filter(({ scope }) => scope !== 'required').map(({ name }) => name)
    expect(beside.toSorted()).toEqual([...listNodePackages().values()].map(({ name }) => name).toSorted())
    expect(new Set(components.map(({ purl }) => purl)).size).toBe(components.length)
  })

  it('has the same list when it is made again, without a build', () => {
    const dist = join(folder, 'prefix/lib/node_modules/tabbat/dist')
    execFileSync(process.execPath, ['build/sbom.ts'], { stdio: 'ignore' })
    expect(readFileSync('dist/sbom.cdx.json', 'utf8')).toBe(readFileSync(join(dist, 'sbom.cdx.json'), 'utf8'))
  })

  describeInstalled(() => ({ file: join(folder, 'prefix/bin/tabbat'), cwd: folder }), { PATH })
})

describe('the packed file', () => {
  itStartsInOneLine('npx', () => ({
    ...{ folder, name: basename(toTarball()) },
    path: USERS_PATH.join(':'),
  }))
})

describe('unpacked, and installed with npm ci', () => {
  const name = findNodePackage(PLATFORM).name
  const files = new Map<string, string | Buffer>()
  const asked: string[] = []
  const registry = createServer((request, response) => {
    asked.push(request.url ?? '')
    const file = files.get(request.url ?? '')
    response.writeHead(file === undefined ? 404 : 200).end(file)
  })
  let place = ''

  /** Another Node.js of the same name and version. The registry names the hash of the right one: else npm would not fetch it. */
  beforeAll(async () => {
    place = mkdtempSync(join(folder, 'unpacked-'))
    execFileSync('tar', ['-xzf', toTarball(), '-C', place])
    const { version, seen } = findNodePackage(PLATFORM)
    const other = mkdtempSync(join(folder, 'other-'))
    mkdirSync(join(other, 'bin'))
    writeFileSync(join(other, 'bin/node'), '#!/bin/sh\necho another program\n', { mode: 0o755 })
    const manifest = { name, version, bin: { node: 'bin/node' } }
    writeFileSync(join(other, 'package.json'), JSON.stringify(manifest))
    npm('npm', 'pack', other, '--silent', '--pack-destination', other)
    await once(registry.listen(0, '127.0.0.1'), 'listening')
    const tarball = `/${name}/-/${name}-${version}.tgz`
    const dist = { tarball: `${toUrl()}${tarball}`, integrity: seen.package }
    files.set(tarball, readFileSync(join(other, `${name}-${version}.tgz`)))
    files.set(`/${name}`, JSON.stringify({ name, versions: { [version]: { ...manifest, dist } } }))
  })
  afterAll(() => registry.close())

  const toUrl = () => `http://127.0.0.1:${(registry.address() as AddressInfo).port}`
  const program = () => ({ file: join(place, 'package/bin/tabbat') })

  it('does not run on a Node.js with another hash, and says so', async () => {
    const env = { ...process.env, PATH: USERS_PATH.join(':') }
    const cache = ['--registry', toUrl(), '--cache', join(place, 'cache'), '--fetch-retries=0']
    // Not spawnSync: the registry answers from this process.
    const child = spawn('npm', ['ci', '--ignore-scripts', ...cache], {
      ...{ cwd: join(place, 'package'), env },
    })
    await once(child, 'close')
    expect(asked).toContainEqual(expect.stringMatching(/\.tgz$/))
    expect(existsSync(join(place, 'package/node_modules', name))).toBe(false)
    const { code, stderr } = await runProgram(program(), { PATH }, '--version')
    expect([code, stderr]).toEqual([1, expect.stringContaining('Node.js 24.7 or newer is required')])
  })

  it('runs on the Node.js with the hash of the release', async () => {
    npm('npm', 'ci', '--ignore-scripts', ...QUIET, '--prefix', join(place, 'package'))
    expect(await runProgram(program(), { PATH }, '--version')).toMatchObject({ code: 0, stderr: '' })
  })
})

/** Of Node.js 20 and 22. */
const NPM_10 = 'npm@10.9.4'

describe('installed with npm 10', () => {
  let missing: string | undefined
  beforeAll(() => {
    try {
      npm('npm', 'install', '--prefix', join(folder, 'npm-10'), ...QUIET, NPM_10)
    } catch (error) {
      missing = `${NPM_10} cannot be installed: ${error}`
      console.warn(`\nThe package was not installed with npm 10. ${missing}\n`)
    }
  })

  it('runs on the Node.js that it brings, and npm has no warning', async ({ skip }) => {
    if (missing) skip(missing)
    expect(install(join(folder, 'npm-10/node_modules/.bin/npm'), 'prefix-10')).toEqual([])
    const program = { file: join(folder, 'prefix-10/bin/tabbat'), cwd: folder }
    expect(await runProgram(program, { PATH }, '--version')).toEqual({
      ...{ code: 0, stdout: `${VERSION}\n`, stderr: '' },
    })
  })

  it('runs as a dependency of another package', async ({ skip }) => {
    if (missing) skip(missing)
    const project = join(folder, 'project')
    mkdirSync(project)
    npm(join(folder, 'npm-10/node_modules/.bin/npm'), 'install', '--prefix', project, ...QUIET, toTarball())
    const program = { file: join(project, 'node_modules/.bin/tabbat'), cwd: folder }
    expect(await runProgram(program, { PATH }, '--version')).toMatchObject({ code: 0, stderr: '' })
  })
})

it('bin/tabbat knows every platform that npm has a Node.js for', () => {
  const known = readFileSync('bin/tabbat', 'utf8').matchAll(/platform=(\w+-\w+)/g)
  expect([...known].map(([, name]) => name).toSorted()).toEqual([...listNodePackages().keys()].toSorted())
})

describe('bin/tabbat without the Node.js of npm', () => {
  it.each([
    ['does not run', 'exit 1'],
    ['is too old', 'echo 2406'],
  ])('says what is missing if the installed one %s', async (_, line) => {
    const place = mkdtempSync(join(folder, 'alone-'))
    mkdirSync(join(place, 'bin'))
    copyFileSync('bin/tabbat', join(place, 'bin/tabbat'))
    writeFileSync(join(place, 'bin/node'), `#!/bin/sh\n${line}\n`, { mode: 0o755 })
    const settings = { PATH: `${join(place, 'bin')}:${USERS_PATH.join(':')}` }
    expect(await runProgram({ file: join(place, 'bin/tabbat') }, settings, '--version')).toMatchObject({
      ...{ code: 1, stderr: expect.stringMatching(/^tabbat: Node\.js 24\.7 or newer is required.*\n$/) },
    })
  })
})
