import { deepStrictEqual } from 'node:assert'
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { delimiter, join } from 'node:path'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'

const NAMES = [
  'chromium-headless-shell',
  'chromium',
  'chromium-browser',
  'google-chrome',
  'google-chrome-stable',
]
const OTHER_PATHS = [
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
]

/** An installed Chromium; nothing is downloaded. */
export const CHROMIUM = [
  ...(process.env.PATH ?? '').split(delimiter).flatMap((folder) => NAMES.map((name) => join(folder, name))),
  ...OTHER_PATHS,
].find(existsSync)

export const SKIPPED = 'The console tests were skipped: no Chromium is installed.'
if (!CHROMIUM) console.warn(`\n${SKIPPED}\n`)

export const launch = (): Promise<Browser> =>
  chromium.launch({ executablePath: CHROMIUM ?? '', args: ['--no-sandbox', '--disable-gpu'] })

const TIMEOUT_MS = 90_000

/** Transitions of colours and of what appears are most frames that Chromium draws. One test has them: journey.test.ts. */
const DEFAULTS: BrowserContextOptions = {
  viewport: { width: 1280, height: 900 },
  reducedMotion: 'reduce',
}

/** A page that records errors, violations of the content security policy and requests to other hosts. */
export type Visit = {
  readonly page: Page
  /** Fails if anything was recorded. */
  readonly expectClean: () => void
  /** Ignores matching records, such as a failed request while the server is down. */
  readonly allow: (sign: RegExp) => void
  readonly close: () => Promise<void>
}

export async function visit(browser: Browser, options: BrowserContextOptions = {}): Promise<Visit> {
  const context = await browser.newContext({ ...DEFAULTS, ...options })
  // As for all that waits for an event.
  context.setDefaultTimeout(TIMEOUT_MS)
  const page = await context.newPage()
  const faults: string[] = []
  const allowed: RegExp[] = []
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') faults.push(message.text())
  })
  page.on('pageerror', (error) => faults.push(`uncaught: ${error.message}`))
  page.on('request', (request) => {
    const { hostname, protocol } = new URL(request.url())
    if (protocol.startsWith('http') && hostname !== '127.0.0.1') faults.push(`request to ${hostname}`)
  })
  return {
    page,
    expectClean: () => {
      const unexpected = faults.filter((fault) => !allowed.some((sign) => sign.test(fault)))
      deepStrictEqual(unexpected, [])
    },
    allow: (sign) => void allowed.push(sign),
    close: () => context.close(),
  }
}

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

type Finding = { readonly id: string; readonly impact: string | null; readonly where: string[] }

/** What the colours decide, for another theme of a page that all rules have looked at. */
export const COLOUR_RULES = ['color-contrast', 'link-in-text-block']

/** Serious and critical findings of axe, for all rules or the given ones. Evaluated directly, because the content security policy blocks its script; without its preloading, which a page of a folder refuses. */
export async function findAxeViolations(page: Page, rules?: readonly string[]): Promise<Finding[]> {
  // 500 kB, which a document keeps.
  await page.evaluate(`if (!('axe' in window)) { ${AXE} }`)
  // After a change of the theme, colours change for a moment. Other animations may last for ever.
  await page.evaluate(
    'Promise.allSettled(document.getAnimations().filter((each) => each instanceof CSSTransition).map(({ finished }) => finished))',
  )
  // Of what is right, nothing is described or sent: that takes as long as the look itself.
  const options = { preload: false, resultTypes: ['violations'], ...(rules && { runOnly: rules }) }
  // Whatever a rule with an impact of its own finds has that impact.
  const violations = (await page.evaluate(
    `(() => {
      const weak = axe._audit.rules.filter(({ impact }) => impact === 'minor' || impact === 'moderate')
      const rules = Object.fromEntries(weak.map(({ id }) => [id, { enabled: false }]))
      return axe.run(document, { ...${JSON.stringify(options)}, rules }).then(({ violations }) => violations)
    })()`,
  )) as { id: string; impact: string | null; nodes: { target: string[] }[] }[]
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, impact, nodes }) => ({ id, impact, where: nodes.flatMap(({ target }) => target) }))
}
