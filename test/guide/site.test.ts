import { globSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { readNavigation } from '../../guide/navigation.ts'
import { createSite } from '../../guide/site.ts'

const site = createSite('.')
const pages = [...site].filter((entry): entry is [string, string] => entry[0].endsWith('.html'))
const entries = readNavigation('.').flatMap((group) => group.entries)

const toIds = (page: string) => [...page.matchAll(/ id="([^"]*)"/g)].map(([, id = '']) => id)
const ids = new Map(pages.map(([name, page]) => [name, toIds(page)]))

const isBroken = (from: string) => (link: string) => {
  const [name = '', anchor] = link.split('#')
  if (name !== '' && !site.has(name)) return true
  return anchor !== undefined && !ids.get(name === '' ? from : name)?.includes(anchor)
}

describe('the index of the guide, docs/README.md', () => {
  it('has every page of docs/ exactly once', () => {
    const listed = entries.map(({ file }) => file).filter((file) => /^docs\/.*\.md$/.test(file))
    const written = globSync('docs/**/*.md').filter((file) => file !== 'docs/README.md')
    expect(listed.toSorted()).toEqual(written.toSorted())
  })

  it('lists no page twice, and pages that have names of their own', () => {
    const names = entries.map(({ name }) => name)
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([])
  })

  it('is by reader', () => {
    const groups = readNavigation('.').map(({ title }) => title)
    expect(groups).toEqual([
      'Start',
      'Integrate',
      'Go live',
      'Operate',
      'Alerts',
      'Answer for it',
      'Understand',
      'Decisions',
      'Reference',
    ])
  })
})

describe.each(pages)('guide page %s', (name, page) => {
  it('links to files and headings that exist', () => {
    const links = [...page.matchAll(/ (?:href|src)="([^"]+)"/g)].map(([, link = '']) => link)
    const broken = links.filter((link) => !/^https?:/.test(link)).filter(isBroken(name))
    expect(links.length).toBeGreaterThan(30)
    expect(broken).toEqual([])
  })

  it('loads nothing from elsewhere, and has nothing that its policy refuses', () => {
    expect(page).not.toMatch(/<(?:img|script|link|iframe|source)[^>]+(?:src|href)="(?:https?:)?\/\//)
    expect(page).not.toMatch(/ style="| on[a-z]+="|<style|<script>|javascript:/)
  })

  it('has a title, one first heading, and no id twice', () => {
    expect(page).toMatch(/<title>[^<]+<\/title>/)
    expect(page.match(/<h1[ >]/g)).toHaveLength(1)
    const own = ids.get(name) ?? []
    expect(own.filter((id, index) => own.indexOf(id) !== index)).toEqual([])
  })
})

it('the guide is the same when it is made again', () => {
  const again = createSite('.')
  expect([...again.keys()]).toEqual([...site.keys()])
  expect(
    [...again].filter(([name, content]) => !Buffer.from(content).equals(Buffer.from(site.get(name) ?? ''))),
  ).toEqual([])
})

it('the console links to pages and headings that exist', () => {
  const files = globSync('console/src/**/*.{ts,tsx}').filter((file) => file !== 'console/src/guide.ts')
  const calls = files.flatMap((file) => [
    ...readFileSync(file, 'utf8').matchAll(/\btoGuide\((?:'([^']*)'(?:,\s*'([^']*)')?)?/g),
  ])
  expect(calls.length).toBeGreaterThan(0)
  const links = calls.map(([, page = 'index', heading]) => `${page}.html${heading ? `#${heading}` : ''}`)
  expect(links.filter(isBroken('index.html'))).toEqual([])
})

describe.each(globSync('docs/pictures/*.svg'))('%s', (file) => {
  const svg = readFileSync(file, 'utf8')

  it('has a title and a description for screen readers', () => {
    const [, labels = ''] = /aria-labelledby="([^"]+)"/.exec(svg) ?? []
    expect(labels.split(' ')).toHaveLength(2)
    expect(labels.split(' ').filter((id) => !toIds(svg).includes(id))).toEqual([])
    expect(svg).toMatch(/<title id="[^"]+">[^<]{10,}<\/title>\s*<desc id="[^"]+">[^<]{50,}<\/desc>/)
  })

  it('has the style of the others, for both themes, and classes that the guide has', () => {
    const style = /<style>[\s\S]*<\/style>/.exec(svg)?.[0] ?? ''
    const [first = ''] = globSync('docs/pictures/*.svg').toSorted()
    expect(style).toContain('prefers-color-scheme: dark')
    expect(readFileSync(first, 'utf8')).toContain(style)
    const classes = [...svg.matchAll(/ class="([^"]+)"/g)].flatMap(([, names = '']) => names.split(' '))
    const known = String(site.get('style.css'))
    expect([...new Set(classes)].filter((name) => !known.includes(`.picture .${name} {`))).toEqual([])
  })

  it('is on a page of the guide, at most once, and has ids that no other picture has', () => {
    const [id = ''] = toIds(svg)
    const counts = pages.map(([, page]) => page.split(` id="${id}"`).length - 1)
    expect(Math.max(...counts)).toBe(1)
  })
})
