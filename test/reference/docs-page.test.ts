import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { createCatalogue, readShippedFolder } from '../../src/catalogue/catalogue.ts'
import { EVENT_TYPES } from '../../src/contract/event.ts'
import { ERRORS } from '../../src/errors.ts'
import { SANDBOX_KEY } from '../../src/keys/sandbox-key.ts'
import { OPERATIONS } from '../../src/operations/operations.ts'
import { toDocsPage } from '../../src/reference/docs-page.ts'

const OPENAPI = readFileSync(new URL('../../openapi.json', import.meta.url), 'utf8')
const catalogue = createCatalogue(readShippedFolder())
const page = toDocsPage(JSON.parse(OPENAPI), catalogue)
const withoutTags = page.replace(/<[^>]*>/g, '')

describe('the page says', () => {
  test.each(OPERATIONS.map(({ operationId }) => operationId))('how to call %s', (operationId) => {
    expect(page).toContain(`id="${operationId}"`)
    expect(page).toContain(`href="#${operationId}"`)
  })

  test.each(Object.keys(JSON.parse(OPENAPI).paths))('that there is %s', (path) => {
    expect(withoutTags).toContain(path)
  })

  test.each(Object.entries(ERRORS))('what %s means', (code, { message }) => {
    expect(page).toContain(`<code>${code}</code>`)
    expect(page).toContain(message)
  })

  test('which fields there are, through references', () => {
    const row =
      /<tr class="depth-2">\s*<th scope="row"><span class="vh">data\.personal_info\.<\/span><code>email<\/code>/
    expect(page).toMatch(row)
    expect(page).not.toContain('$ref')
  })

  test('which fields are personal and which may be null', () => {
    const row = page.split('<tr').find((text) => text.includes('<code>phone_number_2</code>'))
    expect(row).toContain('nullable')
    expect(row).toContain('Personal data')
  })

  test.each(['Idempotency-Key', 'X-Consent-Reference'])(
    'what the header %s means, with an example',
    (name) => {
      const row = page.split('<tr').find((text) => text.includes(`<code>${name}</code>`))
      expect(row).toMatch(/<td class="rest">\w.*<small>Example: <code>[\w-]+<\/code>/)
    },
  )

  test('the sandbox key and the three ways to ask for add-ons', () => {
    expect(page).toContain(SANDBOX_KEY)
    expect(page).toContain('curl -s -X GET &#39;http')
    expect(page).toContain('?type=DSTV&amp;productCode=COMPE36')
    expect(page).toContain('curl -s -X QUERY &#39;http')
  })
})

describe('the page has', () => {
  const sections = page.split(/(?=<section id=)/).slice(1)

  test('no empty chapter, and none that is not in the contents', () => {
    expect(sections.length).toBeGreaterThan(8)
    for (const section of sections)
      expect(section.replace(/<h2.*?<\/h2>/s, ''), section.slice(0, 60)).toMatch(/<table|<pre|<section/)
    for (const [, list] of page.matchAll(/<ul aria-labelledby="nav-[^"]*">(.*?)<\/ul>/gs))
      expect(list).toContain('<a href="')
    const [contents = ''] = page.match(/<nav.*?<\/nav>/s) ?? []
    for (const [, id] of contents.matchAll(/href="#([^"]+)"/g)) expect(page).toContain(`id="${id}"`)
  })

  test('a chapter about webhooks: every event, the headers, the body and the answers', () => {
    const chapter = sections.find((section) => section.startsWith('<section id="webhooks"')) ?? ''
    const shown = [
      ...EVENT_TYPES,
      'webhook-id',
      'webhook-timestamp',
      'webhook-signature',
      'timestamp',
      'reference',
    ]
    for (const name of shown) expect(chapter).toContain(`<code>${name}</code>`)
    for (const text of ['2XX', '4XX', 'VERIFIED', 'required']) expect(chapter).toContain(text)
    expect(page).toContain('<a href="#webhooks">Webhooks</a>')
  })
})

describe('the page lists', () => {
  test('every product code, with the date of its list', () => {
    const codes = [
      ...catalogue.providers.flatMap((provider) => catalogue.listInternetBundles(provider) ?? []),
      ...catalogue.listSmeBundles(),
      ...catalogue.tvProducts,
    ].map(({ code }) => code)
    expect(codes.length).toBeGreaterThan(90)
    for (const code of codes) expect(page).toContain(`<th scope="row"><code>${code}</code>`)
    for (const { name, as_of } of catalogue.asOf) expect(page).toContain(`${name} ${as_of}`)
  })

  test.each(OPERATIONS.map(({ operationId }) => operationId))(
    'samples in four languages and with the client for %s',
    (id) => {
      const section = page.split(`id="${id}"`)[1]?.split('</section>')[0]
      for (const language of [
        'curl',
        'TypeScript, with the client',
        'TypeScript, without',
        'PHP, with',
        'Python, with',
      ])
        expect(section).toContain(`<figcaption>${language}`)
    },
  )
})

describe('the page is safe', () => {
  test('it has one script, which is the file that the policy allows', () => {
    const scripts = [...page.matchAll(/<script>([\s\S]*?)<\/script>/g)].map(([, script]) => script)
    expect(scripts).toEqual([
      readFileSync(new URL('../../src/reference/docs-page/copy.js', import.meta.url), 'utf8'),
    ])
    expect(page.match(/<script/gi)).toHaveLength(1)
    expect(page).not.toMatch(/javascript:|<[^>]*\son[a-z]+=/i)
  })

  test('it loads nothing and has no external links', () => {
    expect(page).not.toMatch(/<(?:img|link|iframe|object|embed|base|form)\b|@import|url\(/i)
    const targets = [...page.matchAll(/\s(?:src|href|action|srcset)="([^"]*)"/g)].map(([, target]) => target)
    expect(targets.filter((target) => !target?.startsWith('#') && target !== '/openapi.json')).toEqual([])
  })

  test('its links have targets, and ids are unique', () => {
    const ids = [...page.matchAll(/\sid="([^"]*)"/g)].map(([, id]) => id)
    const targets = [...page.matchAll(/href="#([^"]*)"/g)].map(([, id]) => id)
    expect(new Set(ids).size).toBe(ids.length)
    expect(targets.filter((id) => !ids.includes(id))).toEqual([])
  })

  test('text of the document is escaped', () => {
    const evil = `"'><script>alert(1)</script>`
    const poisoned = JSON.parse(OPENAPI, (name, value) =>
      typeof value === 'string' && !name.startsWith('$') ? `${value}${evil}` : value,
    )
    const poisonedPage = toDocsPage(poisoned, catalogue)
    expect(poisonedPage.match(/<script/g)).toHaveLength(1)
    expect(poisonedPage).toContain('&lt;script&gt;')
  })

  test('it stays small', () => {
    expect(Buffer.byteLength(page)).toBeLessThan(250_000)
  })
})

test('headings come in order', () => {
  const levels = [...page.matchAll(/<h([1-6])/g)].map(([, level]) => Number(level))
  expect(levels[0]).toBe(1)
  expect(levels.filter((level) => level === 1)).toHaveLength(1)
  for (const [index, level] of levels.entries()) expect(level - (levels[index - 1] ?? 0)).toBeLessThan(2)
})
