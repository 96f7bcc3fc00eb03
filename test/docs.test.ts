import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { toAnchor } from '../guide/markdown.ts'
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
  ...globSync('packages/*/README.md'),
]

/** Pages for readers. Others are generated, or records of what was decided and what broke. */
const isForReaders = (page: string) =>
  page.startsWith('docs/') &&
  !/^docs\/(adr|archive)\//.test(page) &&
  !/^docs\/(README|configuration|key-options|commands)\.md$/.test(page)

/** Pages without steps: what is, not what to do. Some have their failures under another heading. */
const REFERENCES = [
  'admin-api',
  'audit-format',
  'behaviour',
  'data-map',
  'decide',
  'doctor',
  'glossary',
  'match',
  'observability',
  'releases',
  'reliability',
  'scale',
  'troubleshooting',
].map((name) => `docs/${name}.md`)

const matches = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].map(([, found = '']) => found)

const hasAnchor = (path: string, anchor: string) =>
  matches(readFileSync(path, 'utf8'), /^#+ (.+)$/gm)
    .map(toAnchor)
    .includes(anchor)

const isBroken = (page: string) => (link: string) => {
  const [path = '', anchor] = link.split('#')
  const target = path === '' ? page : join(dirname(page), path)
  return !existsSync(target) || (anchor !== undefined && !hasAnchor(target, anchor))
}

/** A paragraph, an entry of a list or a row of a table. Code is left out. */
const splitIntoBlocks = (text: string) =>
  text.replace(/```[\s\S]*?```/g, '\n').split(/\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) |\|)/)

/** Without line ends and addresses; code is one word. */
const toPlainText = (block: string) =>
  block
    .replace(/\s+/g, ' ')
    .replace(/`[^`]*`/g, '…')
    .replace(/\]\([^)]*\)/g, ']')

const countWords = (text: string) => text.split(' ').filter((word) => /[\p{L}\p{N}…]/u.test(word)).length

const isRow = (block: string) => /^\s*\|/.test(block)

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

  it('has links that name what they lead to, not its file', () => {
    // In the guide, these get the titles of the pages.
    if (page === 'docs/commands.md') return
    expect(matches(text, /\[([\w./-]+\.md)\]\(/g)).toEqual([])
  })

  it('has short paragraphs and cells', () => {
    if (/^docs\/(archive\/|configuration|key-options|commands)/.test(page)) return
    const blocks = splitIntoBlocks(text)
    const long = blocks.filter((block) => !isRow(block) && block.split(/\s+/).filter(Boolean).length > 90)
    expect(long).toEqual([])
    const cells = blocks.filter(isRow).flatMap((row) => row.split(/(?<!\\)\|/))
    expect(cells.map((cell) => cell.trim()).filter(({ length }) => length > 250)).toEqual([])
  })

  it('has short sentences', () => {
    if (/^docs\/(adr\/|archive\/|configuration|key-options|commands)/.test(page)) return
    const sentences = splitIntoBlocks(text)
      .filter((block) => !isRow(block))
      .flatMap((block) => toPlainText(block).split(/(?<=[.!?][")*_]*) (?=["(*_[A-Z0-9…])/))
    expect(sentences.filter((sentence) => countWords(sentence) > 30)).toEqual([])
  })

  if (isForReaders(page))
    it('begins with who it is for and what they need', () => {
      expect(text).toMatch(/^# .+\n\n\*\*For\*\* [\s\S]+?\*\*You need\*\* /)
    })

  if (isForReaders(page) && !/^docs\/alerts\//.test(page) && !REFERENCES.includes(page))
    it('says what can go wrong', () => {
      expect(text).toMatch(/^## What can go wrong$|\*\*What can go wrong:\*\*/m)
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
    const blocks = matches(text, /```sh(?: run)?\n([\s\S]*?)```/g).join('\n')
    const lines = matches(blocks, /^((?:bin\/)?tabbat .*)$/gm).map((line) => line.replace('ver_…', EXAMPLE))
    for (const line of lines) {
      const run = await parse(line).catch((error: Error) => `${line}: ${error.message}`)
      expect(run, line).toMatch(/^tabbat [a-z0-9 -]+$/)
    }
  })
})

const EXAMPLE = `ver_${'0'.repeat(36)}`

it('docs/behaviour.md and docs/troubleshooting.md name every error code', () => {
  const codes = Object.keys(ERRORS)
  const behaviour = readFileSync('docs/behaviour.md', 'utf8')
  expect(codes.filter((code) => !behaviour.includes(`\`${code}\``))).toEqual([])
  const troubleshooting = readFileSync('docs/troubleshooting.md', 'utf8')
  const others = codes.filter((code) => code !== 'unauthenticated')
  expect(others.filter((code) => !troubleshooting.includes(`\`${code}\``))).toEqual([])
})

it('docs/doctor.md and docs/troubleshooting.md name every check', () => {
  const files = globSync('src/health/*-checks.ts').map((file) => readFileSync(file, 'utf8'))
  const checks = files.flatMap((file) => matches(file, /check = '([a-z ]+)'/g))
  expect(checks.length).toBeGreaterThan(12)
  for (const page of ['docs/doctor.md', 'docs/troubleshooting.md']) {
    const text = readFileSync(page, 'utf8')
    expect(checks.filter((check) => !text.includes(`\`${check}\``))).toEqual([])
  }
})

it('docs/data-map.md names every table', () => {
  const text = readFileSync('docs/data-map.md', 'utf8')
  for (const engine of ['sqlite', 'postgres']) {
    const schema = readFileSync(`src/database/schema/${engine}.sql`, 'utf8')
    const tables = matches(schema, /^CREATE (?:UNLOGGED )?TABLE (\w+)/gm)
    expect(tables.length).toBeGreaterThan(50)
    expect(tables.filter((table) => !text.includes(`\`${table}\``))).toEqual([])
  }
  const columns = matches(text, /^\| ((?:`[a-z_]+`(?:, )?)+) \|/gm).flatMap((cell) =>
    matches(cell, /`([a-z_]+)`/g),
  )
  const schema = readFileSync('src/database/schema/sqlite.sql', 'utf8')
  expect(columns.filter((name) => !schema.includes(`CREATE TABLE ${name} (`))).toEqual([])
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
  // The whole title, as the first argument of a call.
  const isMissing = (path: string, name: string) =>
    !new RegExp(`\\(\\s*(['\`])${RegExp.escape(name)}\\1,`).test(readFileSync(path, 'utf8'))
  const missing = named.filter(([, path = '', name = '']) => isMissing(path, name))
  expect(missing.map(([whole]) => whole)).toEqual([])
  const isSkipped = (path: string) => /\b(it|test|describe)\.(skip|todo)\b/.test(readFileSync(path, 'utf8'))
  expect(named.filter(([, path = '']) => isSkipped(path)).map(([whole]) => whole)).toEqual([])
})

it('docs/start.md has a picture in every step', () => {
  const steps = readFileSync('docs/start.md', 'utf8')
    .split(/^## (?=\d+\. )/m)
    .slice(1)
  expect(steps.length).toBeGreaterThan(3)
  expect(steps.filter((step) => !step.includes('![')).map((step) => step.split('\n')[0])).toEqual([])
})
