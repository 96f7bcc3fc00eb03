import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { licenceProblems, toLicences } from '../../build/licences.ts'
import { type LockFile, readLock } from '../../build/lock-file.ts'

const lockOf = (license?: string) =>
  ({
    packages: { 'node_modules/x': { version: '1.0.0', ...(license && { license }) } },
  }) as unknown as LockFile

it('every package of the lock file has a licence of the list', () => {
  const paths = Object.keys(readLock().packages)
  expect(paths.length).toBeGreaterThan(100)
  expect(licenceProblems(paths, 'development')).toEqual([])
})

it.each([
  ['MIT', 0],
  ['MIT OR GPL-3.0-only', 0],
  ['(MIT OR GPL-3.0-only)', 0],
  ['MIT AND Apache-2.0', 0],
  ['MIT AND GPL-3.0-only', 1],
  ['GPL-3.0-only', 1],
  ['SEE LICENSE IN LICENSE.txt', 1],
  ['(MIT OR (GPL-3.0-only AND ISC))', 1],
  ['(MIT OR ISC) AND (GPL-3.0-only OR ISC)', 1],
  [undefined, 1],
])('with the licence %s a package has %d problems', (license, count) => {
  expect(licenceProblems(['node_modules/x'], 'shipped', lockOf(license))).toHaveLength(count)
})

it('MPL-2.0 is for tools, and not inside the product', () => {
  expect(licenceProblems(['node_modules/x'], 'development', lockOf('MPL-2.0'))).toEqual([])
  expect(licenceProblems(['node_modules/x'], 'shipped', lockOf('MPL-2.0'))).toHaveLength(1)
})

it('the problem says what to do', () => {
  expect(licenceProblems(['node_modules/x'], 'shipped', lockOf('AGPL-3.0-only'))).toEqual([
    'node_modules/x has the licence AGPL-3.0-only, which is not on the list of build/licences.ts for shipped packages. Read it: add it to the list if it may be used, else remove the package.',
  ])
})

it.each(['pg-types', 'pgpass', 'undici'])('the text of %s names whose it is', (name) => {
  expect(toLicences([`node_modules/${name}`])).toMatch(
    /^\S+ \S+ \(MIT\)\n.*Copyright \(c\) .*THE SOFTWARE IS PROVIDED/s,
  )
})

it('a package without a text is refused', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tabbat-licence-'))
  writeFileSync(
    join(folder, 'package.json'),
    JSON.stringify({ name: 'pgpass', version: '1.0.6', license: 'MIT' }),
  )
  expect(() => toLicences([folder])).toThrow(
    'pgpass 1.0.6 (MIT) is shipped and has no file with its licence. Look up whose it is, and add it to COPYRIGHT in build/licences.ts.',
  )
  rmSync(folder, { recursive: true })
})
