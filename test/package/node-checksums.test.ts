import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { readLock } from '../../build/lock-file.ts'
import { findNode, findNodePackage, listNodePackages, nodeProblem } from '../../build/node-binary.ts'

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
