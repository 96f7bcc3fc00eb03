import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SANDBOX_KEY } from '../../src/keys/sandbox-key.ts'
import { VERSION } from '../../src/version.ts'
import { createSecret, toSignedHeaders } from '../../src/webhooks/attempt.ts'
import { findFreePort } from '../free-port.ts'
import { type ClientServer, openClientServer } from './open-server.ts'

const PACKAGE = 'packages/client'
const manifest = JSON.parse(readFileSync(`${PACKAGE}/package.json`, 'utf8'))
const examples = [...readFileSync(`${PACKAGE}/README.md`, 'utf8').matchAll(/```ts\n([\s\S]*?)```/g)].map(
  ([, code = '']) => code,
)
const secret = createSecret()
let folder = ''
let server: ClientServer

/** An empty project with the packed client, installed without a network. */
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tabbat-client-'))
  execFileSync(process.execPath, [`${PACKAGE}/build.ts`], { stdio: 'ignore' })
  const npm = (cwd: string, ...args: string[]) => execFileSync('npm', args, { cwd, stdio: 'ignore' })
  npm(PACKAGE, 'pack', '--ignore-scripts', '--pack-destination', folder)
  const [tarball = ''] = globSync('tabbat-client-*.tgz', { cwd: folder })
  writeFileSync(join(folder, 'package.json'), '{"private":true,"type":"module"}')
  npm(folder, 'install', '--offline', '--ignore-scripts', '--no-audit', '--no-fund', `./${tarball}`)
  for (const [index, code] of examples.entries())
    for (const kind of ['ts', 'js']) {
      mkdirSync(join(folder, kind), { recursive: true })
      writeFileSync(join(folder, kind, `example-${index}.${kind}`), code)
    }
  server = await openClientServer()
})
afterAll(async () => {
  await server.close()
  rmSync(folder, { recursive: true, force: true })
})

type Runtime = { readonly name: string; readonly command: readonly [string, ...string[]] }

/** The Node.js of this project, that of the machine, which may be older, and Deno and Bun if they are installed. */
const runtimes: readonly Runtime[] = [
  ...[process.execPath, ...findNodes()].map((file) => ({ name: file, command: [file] as const })),
  ...findPrograms('deno').map((file) => ({
    name: 'Deno',
    command: [file, 'run', '--allow-net', '--allow-env', '--node-modules-dir=manual'] as const,
  })),
  ...findPrograms('bun').map((file) => ({ name: 'Bun', command: [file] as const })),
]
for (const name of ['deno', 'bun'])
  if (findPrograms(name).length === 0)
    console.warn(`\nThe client was not run on ${name}: it is not installed.\n`)

/** The first one in the PATH. */
function findPrograms(name: string, isSearched: (folder: string) => boolean = () => true): string[] {
  const folders = (process.env.PATH ?? '').split(delimiter).filter(isSearched)
  return folders
    .flatMap((each) => globSync(name, { cwd: each || '.' }).map(() => join(each, name)))
    .slice(0, 1)
}

function findNodes(): string[] {
  const found = findPrograms('node', (folder) => !folder.includes('node_modules'))
  const isSupported = (file: string) =>
    Number(execFileSync(file, ['-p', 'process.versions.node.split(".")[0]']).toString()) >= 20
  return found.filter(isSupported)
}

const run = (
  { command: [program, ...args] }: Runtime,
  index: number,
  settings: Record<string, string> = {},
) =>
  spawn(program, [...args, join(folder, 'js', `example-${index}.js`)], {
    cwd: folder,
    env: { TABBAT_KEY: SANDBOX_KEY, TABBAT_URL: server.url, ...settings },
    stdio: ['ignore', 'pipe', 'inherit'],
  })

const outputOf = async (runtime: Runtime, index: number) => {
  const child = run(runtime, index)
  const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'close')])
  expect(code).toBe(0)
  return output
}

describe('the package', () => {
  it('has the version of the server, the licence, and no dependency', () => {
    expect(manifest.version).toBe(VERSION)
    expect(readFileSync(`${PACKAGE}/LICENSE`, 'utf8')).toBe(readFileSync('LICENSE', 'utf8'))
    expect(Object.keys(manifest).filter((name) => /dependencies/i.test(name))).toEqual([])
  })

  it('contains the build and nothing else, and no import of another package', () => {
    const installed = join(folder, 'node_modules/@tabbat/client')
    expect(readdirSync(installed).toSorted()).toEqual(['LICENSE', 'README.md', 'dist', 'package.json'])
    const code = readFileSync(join(installed, 'dist/index.js'), 'utf8')
    expect(code).not.toMatch(/\bimport\b|\brequire\b|\bprocess\b|\bBuffer\b/)
  })

  it('has at most 7 kB in gzip, in lines that can be read beside an uncaught error', () => {
    const code = readFileSync(join(folder, 'node_modules/@tabbat/client/dist/index.js'), 'utf8')
    expect(gzipSync(code).length).toBeLessThanOrEqual(7000)
    expect(code.split('\n').filter((line) => line.length > 300)).toEqual([])
  })

  it('is not part of the package of the server', () => {
    const { files } = JSON.parse(readFileSync('package.json', 'utf8')) as { files: string[] }
    expect(files.filter((each) => each.startsWith('packages'))).toEqual([])
  })
})

describe('the five examples of the README', () => {
  it('are five, and have no type error under strict', () => {
    expect(examples.length).toBe(5)
    const options = ['--strict', '--exactOptionalPropertyTypes', '--noUncheckedIndexedAccess', '--noEmit']
    const modules = ['--module', 'nodenext', '--target', 'es2022', '--types', 'node']
    const types = ['--typeRoots', join(process.cwd(), 'node_modules/@types')]
    const files = globSync(join(folder, 'ts/*.ts'))
    const args = [
      join(process.cwd(), 'node_modules/typescript/bin/tsc'),
      ...options,
      ...modules,
      ...types,
      ...files,
    ]
    execFileSync(process.execPath, args, { cwd: folder, stdio: 'inherit' })
  })

  describe.each(runtimes)('run as JavaScript on $name', (runtime) => {
    it.each([
      [0, /^verified [mf]\n$/],
      [1, /^validation_failed 422 false \[ ['"]bvn['"] \]\n$/],
      [2, /^cancelled\n$/],
      [3, /^refused 2 nin\ncustomer 1 done\ncustomer 2 refused\ntrue true\n$/],
    ])('example %i', async (index, expected) => {
      expect(await outputOf(runtime, index)).toMatch(expected)
    })

    it('example 4, a receiver of webhooks', async () => {
      const port = String(await findFreePort())
      const child = run(runtime, 4, { PORT: port, WEBHOOK_SECRET: secret })
      await once(child.stdout, 'data')
      const body =
        '{"type":"batch.completed","timestamp":"2026-11-16T01:01:02Z","data":{"reference":"bat_1"}}'
      const headers = toSignedHeaders({ id: 'evt_1', at: Date.now(), body }, [secret])
      const post = async (sent: string) =>
        (await fetch(`http://127.0.0.1:${port}`, { method: 'POST', headers, body: sent })).status
      const printed = once(child.stdout, 'data')
      expect(await post(body)).toBe(204)
      expect(String(await printed)).toBe('evt_1 batch.completed bat_1\n')
      expect(await post(`${body} `)).toBe(401)
      child.kill()
      await once(child, 'close')
    })
  })
})
