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
