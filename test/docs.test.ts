import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { listSettings } from '../src/context/config.ts'
import { ERRORS } from '../src/errors.ts'
import { parse } from './cli/parse.ts'

/** The pages that people write. CHANGELOG.md may name what is gone. */
const PAGES = [
  ...globSync('docs/**/*.md'),
  'README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'examples/README.md',
]

const matches = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].map(([, found = '']) => found)

const toAnchor = (heading: string) =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')

const hasAnchor = (path: string, anchor: string) =>
  matches(readFileSync(path, 'utf8'), /^#+ (.+)$/gm)
    .map(toAnchor)
    .includes(anchor)

const isBroken = (page: string) => (link: string) => {
  const [path = '', anchor] = link.split('#')
  const target = path === '' ? page : join(dirname(page), path)
  return !existsSync(target) || (anchor !== undefined && !hasAnchor(target, anchor))
}

const VARIABLES = new Set([
  ...listSettings().flatMap(({ env }) => [env, `${env}_FILE`]),
  'TABBAT_TEST_DATABASE_URL',
  // Of the configuration of HAProxy.
  'TABBAT_PROXY_BIND',
  'TABBAT_PROXY_CERT',
  'TABBAT_PROXY_STATS',
  // Of npm run build:release.
  'TABBAT_RELEASE_KEY',
  // Of the programs in examples/.
  'TABBAT_URL',
  'TABBAT_KEY',
])

describe.each(PAGES)('%s', (page) => {
  const text = readFileSync(page, 'utf8')

  it('has links that lead somewhere', () => {
    const links = matches(text, /\]\(([^)\s]+)\)/g).filter((link) => !/^https?:/.test(link))
    expect(links.filter(isBroken(page))).toEqual([])
  })

  it('names files that exist', () => {
    const named = matches(
      text,
      /(?<![\w/])((?:src|test|docs|bench|build|deploy)\/[\w/.-]+\.(?:ts|md|json|ndjson|png|cfg|template|yaml|service|timer))\b/g,
    )
    expect(named.filter((path) => !existsSync(path))).toEqual([])
  })

  it('names settings that exist', () => {
    const named = matches(text, /\b(TABBAT_(?!ACME)[A-Z][A-Z_]*[A-Z])\b/g)
    expect(named.filter((name) => !VARIABLES.has(name))).toEqual([])
  })

  it('has commands that the parser accepts', async () => {
    const blocks = matches(text, /```sh\n([\s\S]*?)```/g).join('\n')
    const lines = matches(blocks, /^((?:bin\/)?tabbat .*)$/gm).map((line) => line.replace('ver_…', EXAMPLE))
    for (const line of lines) {
      const run = await parse(line).catch((error: Error) => `${line}: ${error.message}`)
      expect(run, line).toMatch(/^tabbat [a-z0-9 -]+$/)
    }
  })
})

const EXAMPLE = `ver_${'0'.repeat(36)}`

it('docs/behaviour.md names every error code', () => {
  const text = readFileSync('docs/behaviour.md', 'utf8')
  expect(Object.keys(ERRORS).filter((code) => !text.includes(`\`${code}\``))).toEqual([])
})

it('docs/monitoring.md names every event of the log', () => {
  const text = readFileSync('docs/monitoring.md', 'utf8')
  const files = globSync('src/**/*.ts').filter((file) => !file.endsWith('.test.ts'))
  const events = files.flatMap((file) =>
    matches(readFileSync(file, 'utf8'), /\bevent\(\s*'(?:info|warn|error)',\s*'([a-z_]+)'/g),
  )
  expect(events.length).toBeGreaterThan(10)
  expect(events.filter((event) => !text.includes(`\`${event}\``))).toEqual([])
})

it('SECURITY.md names tests that exist', () => {
  const text = readFileSync('SECURITY.md', 'utf8')
  const named = [...text.matchAll(/`(test\/[\w/.-]+\.test\.ts)`, \*([^*]+)\*/g)]
  expect(named.length).toBeGreaterThan(50)
  // Every test file that is named has a test beside it.
  expect(named).toHaveLength(matches(text, /(`test\/[\w/.-]+\.test\.ts`)/g).length)
  const isMissing = (path: string, name: string) =>
    !["'", '`'].some((quote) => readFileSync(path, 'utf8').includes(`${name}${quote}`))
  const missing = named.filter(([, path = '', name = '']) => isMissing(path, name))
  expect(missing.map(([whole]) => whole)).toEqual([])
})
