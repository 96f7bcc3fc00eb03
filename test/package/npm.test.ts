import { execFileSync, spawnSync } from 'node:child_process'
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findNodePackage, listNodePackages } from '../../build/node-binary.ts'
import { describeInstalled, itStartsInOneLine } from './installed.ts'

const PLATFORM = `${process.platform}-${process.arch}`
let folder = ''

/** npm runs on the installed Node.js, as for a user. Returns what it reports, without remarks about the settings of the machine. */
function npm(...args: string[]): string[] {
  const { status, stderr } = spawnSync('npm', args, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`npm ${args.join(' ')}: ${stderr}`)
  return stderr.split('\n').filter((line) => line !== '' && !/Unknown (user|env) config/.test(line))
}

let reported: string[] = []

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'tabbat-install-'))
  // Without npm's scripts: they would rebuild the console while other tests use it.
  execFileSync(process.execPath, ['build/package.ts'], { stdio: 'ignore' })
  npm('pack', '--silent', '--ignore-scripts', '--pack-destination', folder)
  const [tarball = ''] = globSync('tabbat-*.tgz', { cwd: folder })
  const production = ['--ignore-scripts', '--omit=dev', '--no-audit', '--no-fund', '--prefer-offline']
  reported = npm(
    ...['install', '--global', '--prefix', join(folder, 'prefix'), ...production],
    join(folder, tarball),
  )
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('installed with npm install -g --ignore-scripts --omit=dev', () => {
  it('was installed without a warning', () => expect(reported).toEqual([]))

  it('brings Node.js for this platform and nothing else, and no package with an install script', () => {
    const installed = globSync('prefix/lib/node_modules/tabbat/node_modules/*/package.json', { cwd: folder })
    const manifests = installed.map(
      (path) => JSON.parse(readFileSync(join(folder, path), 'utf8')) as { name: string; scripts?: object },
    )
    expect(manifests.map(({ name }) => name)).toEqual([findNodePackage(PLATFORM).name])
    expect(manifests.flatMap(({ scripts }) => Object.keys(scripts ?? {}))).toEqual([])
  })

  it('has no install script, which npm would warn about', () => {
    const manifest = join(folder, 'prefix/lib/node_modules/tabbat/package.json')
    const { scripts } = JSON.parse(readFileSync(manifest, 'utf8')) as { scripts: Record<string, string> }
    const forbidden = ['preinstall', 'install', 'postinstall', 'prepublish', 'preprepare', 'prepare']
    expect(Object.keys(scripts).filter((name) => forbidden.includes(name))).toEqual([])
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

  describeInstalled(() => ({ file: join(folder, 'prefix/bin/tabbat'), cwd: folder }))
})

describe('the packed file', () => {
  itStartsInOneLine('npx', () => ({ folder, name: globSync('tabbat-*.tgz', { cwd: folder })[0] ?? '' }))
})
