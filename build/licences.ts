import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { readLock } from './lock-file.ts'

/** Licences that ask for no more than their own text, which LICENSES.txt has. */
const SHIPPED = ['0BSD', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', 'ISC', 'MIT', 'MIT-0', 'Unlicense']

/** For tools that are not in the product, MPL-2.0 as well: it asks for the sources of what is passed on. */
const ALLOWED = { shipped: SHIPPED, development: [...SHIPPED, 'MPL-2.0'] }

type LicenceUse = keyof typeof ALLOWED

/** One sentence for each package, by its path in the lock file, whose licence is not on the list. */
export function licenceProblems(
  paths: readonly string[],
  use: LicenceUse,
  { packages } = readLock(),
): string[] {
  return paths.flatMap((path) => {
    const { link, license } = packages[path] ?? {}
    if (link === true || isAllowed(license, ALLOWED[use])) return []
    const found = license === undefined ? 'names no licence' : `has the licence ${license}`
    return `${path} ${found}, which is not on the list of build/licences.ts for ${use} packages. Read it: add it to the list if it may be used, else remove the package.`
  })
}

/** Of `MIT OR GPL-3.0` one part must be allowed, of `MIT AND GPL-3.0` both. Nothing deeper occurs; it is refused. */
function isAllowed(license: string | undefined, allowed: readonly string[]): boolean {
  const text = license?.replace(/^\((.*)\)$/, '$1') ?? ''
  if (/[()]/.test(text)) return false
  return text.split(' OR ').some((either) => either.split(' AND ').every((each) => allowed.includes(each)))
}

/** What the README of a package says that has no file with its licence. */
const COPYRIGHT: Readonly<Record<string, string>> = {
  'pg-types 2.2.0 (MIT)': 'Copyright (c) 2014 Brian M. Carlson',
  'pgpass 1.0.5 (MIT)': 'Copyright (c) 2013-2016 Hannes Hörl',
}

const MIT = `Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation files (the "Software"), to deal in the Software without restriction, including without limitation the rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.`

/** The licence texts of packages, by their folders. */
export const toLicences = (folders: readonly string[]): string =>
  folders
    .map((folder) => toLicence(folder))
    .sort()
    .join(`\n${'-'.repeat(80)}\n\n`)

function toLicence(folder: string): string {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    name: string
    version: string
    license: string
  }
  const title = `${name} ${version} (${license})`
  return `${title}\n\n${readText(folder) ?? toMit(title)}\n`
}

function readText(folder: string): string | undefined {
  // Sorted: the order of a folder is not the same on every disk.
  const [file] = globSync('{LICEN,Licen,licen}*', { cwd: folder }).toSorted()
  return file === undefined ? undefined : readFileSync(join(folder, file), 'utf8').trim()
}

function toMit(title: string): string {
  const copyright = COPYRIGHT[title]
  if (copyright !== undefined) return `${copyright}\n\n${MIT}`
  throw new Error(
    `${title} is shipped and has no file with its licence. Look up whose it is, and add it to COPYRIGHT in build/licences.ts.`,
  )
}
