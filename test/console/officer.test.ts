import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { createSigner } from '../../src/audit/signing.ts'
import { loadConfig } from '../../src/context/config.ts'
import { openSealedStore } from '../../src/context/sealed-store.ts'
import { toBlindIndexText } from '../../src/crypto/mac.ts'
import { toNinRecord } from '../../src/sources/sandbox/nin-record.ts'
import { createReference } from '../../src/verification/verification-request.ts'
import { append, checkpoint } from '../audit/old-log.ts'
import { CHROMIUM, COLOUR_RULES, findAxeViolations } from './browser.ts'
import { type ConsoleServer, PASSWORD, startConsoleServer } from './console-server.ts'
import { setUpConsole } from './console-set-up.ts'

const NIN = '45678901234'
const PHONE = '08031234567'
const REASON = 'Request of access, case 17'
/** The last March. */
const now = new Date()
const YEAR = now.getUTCMonth() > 2 ? now.getUTCFullYear() : now.getUTCFullYear() - 1
const MARCH = 3
const LOOK_UPS = 13

/** One person in the registry who was looked up 13 times, three times of them in March, and another who was looked up once. */
async function startServer(): Promise<ConsoleServer> {
  const server = await startConsoleServer({
    TABBAT_NIN_SOURCES: 'registry',
    TABBAT_ORGANISATION: 'Shop Ltd; 12 Marina Road, Lagos; privacy@shop.example',
  })
  const file = join(server.dataDir, 'people.ndjson')
  const people = [NIN, '45678901235'].map((nin) => JSON.stringify(toNinRecord(nin, PHONE.slice(1))))
  writeFileSync(file, `${people.join('\n')}\n`)
  await server.run('import', 'nin', file)
  const key = JSON.parse(
    await server.run('keys', 'create', '--name', 'loans app', '--mode', 'live', '--json'),
  )
  await writeMarch(server, key.id)
  for (let count = MARCH; count < LOOK_UPS; count++) await verify(server, key.key, NIN, count)
  await verify(server, key.key, '45678901235', LOOK_UPS)
  return server
}

async function verify({ api }: ConsoleServer, key: string, nin: string, count: number): Promise<void> {
  const answer = await fetch(`${api}/api/v2/kyc/verify-nin`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'x-consent-reference': `shop/lagos-island/2026/consent-of-customer-${count}`,
      'x-purpose': 'account-opening',
    },
    body: JSON.stringify({ nin, phone: PHONE }),
  })
  if (answer.status !== 200) throw new Error(`the verification was answered ${answer.status}`)
}

/** Rows of March, as a server wrote them then. */
async function writeMarch({ dataDir }: ConsoleServer, keyId: string): Promise<void> {
  const { store, keyring } = await openSealedStore(loadConfig({ TABBAT_DATA_DIR: dataDir }), {
    mustExist: true,
  })
  const chain = `y${YEAR}m03-aaaa0001-1`
  await store.audit.claim(chain, null, 'old', Date.now())
  const entries = Array.from({ length: MARCH }, (_entry, index) => ({
    phase: 'outcome',
    time: new Date(Date.UTC(YEAR, 2, 5 + index, 13, 3, 22)).toISOString(),
    request_reference: createReference(),
    key_id: keyId,
    mode: 'live',
    operation: 'verify_nin',
    subject: toBlindIndexText(keyring.subject, 'nin', NIN),
    outcome: 'not_verified',
    sources: JSON.stringify([{ name: 'registry', result: 'found', ms: 1 }]),
    detail: 'purpose: loan',
  }))
  await append(store, chain, entries)
  await store.audit.release(chain, 'old', Date.now())
  await checkpoint(store, dataDir, createSigner(keyring['audit-signing']))
  await store.close()
}

/** Presses of the pointer, and choices in lists and of files. */
const COUNT_CLICKS = `
  window.clicks = 0
  addEventListener('pointerdown', () => { window.clicks += 1 }, true)
  addEventListener('change', ({ target }) => { if (target.matches('select, [type=file]')) window.clicks += 1 }, true)
  window.printed = 0
  window.print = () => { window.printed += 1 }
`

const readClicks = (page: Page) => page.evaluate('window.clicks') as Promise<number>

/** How many look-ups begin on each page of a PDF by Chromium: its outline, which is not compressed, has their titles. */
function countLookUps(pdf: Buffer): number[] {
  const text = pdf.toString('latin1')
  const pages = [...text.matchAll(/(\d+) 0 obj\s*<<\/Type \/Page\b/g)].map(([, id]) => id)
  const titles = [...text.matchAll(/\/Title \(\d[^)]*, loans app\)\s*\/Dest \[(\d+) 0 R/g)].map(
    ([, id]) => id,
  )
  return pages.map((page) => titles.filter((id) => id === page).length)
}

/** On paper: words in two lines, and boxes outside the sheet. The window is as wide as the sheet without its margins. */
const FIND_BAD_PRINT = `(() => {
  const bad = []
  const walker = document.createTreeWalker(document.querySelector('.report'), NodeFilter.SHOW_TEXT)
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (!node.parentElement.checkVisibility()) continue
    for (const { 0: word, index } of node.data.matchAll(/\\S+/g)) {
      const range = document.createRange()
      range.setStart(node, index)
      range.setEnd(node, index + word.length)
      const boxes = [...range.getClientRects()]
      // A browser may break after these signs, as a writer would.
      const isWhole = new Set(boxes.map(({ top }) => Math.round(top))).size === 1 || /[-/]./.test(word)
      if (!isWhole || boxes.some(({ left, right }) => left < 0 || right > innerWidth + 1)) bad.push(word)
    }
  }
  return bad
})()`
/** 182 mm in pixels of CSS. */
const PRINTED_WIDTH = 688

describe.skipIf(!CHROMIUM)('an officer', () => {
  const at = setUpConsole({ start: startServer })
  beforeAll(async () => {
    await at.visitor.page.addInitScript(COUNT_CLICKS)
  })

  const open = async (name: string) => {
    const { page } = at.visitor
    await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name, exact: true }).click()
  }
  const startAtOverview = async () => {
    const { page } = at.visitor
    await page.goto('about:blank')
    await page.goto(`${at.server.admin}/console#/overview`)
    await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor()
  }
  const listed = () => at.visitor.page.getByRole('table').first().getByRole('row')

  it('finds who looked a person up in March with three clicks', async () => {
    const { page } = at.visitor
    await startAtOverview()
    await open('Audit')
    await page.getByText('Filter by key, person, outcome, purpose…').click()
    await page.getByRole('textbox', { name: 'NIN or BVN' }).fill(NIN)
    await page.keyboard.press('Enter')
    await expect.poll(() => listed().count()).toBe(LOOK_UPS + 1)
    await page.getByRole('combobox', { name: 'Month' }).selectOption({ label: `March ${YEAR}` })
    await expect.poll(() => listed().count()).toBe(MARCH + 1)
    expect((await listed().allTextContents()).join('\n')).toMatch(/not verified.*loans app.*loan/)
    expect(await readClicks(page)).toBe(3)
    at.visitor.expectClean()
  })

  it('exports what is listed, and checks the extract, with two clicks', async () => {
    const { page } = at.visitor
    await page.evaluate('window.clicks = 0')
    const downloading = page.waitForEvent('download')
    await page.getByRole('link', { name: 'CSV', exact: true }).click()
    const path = await (await downloading).path()
    await page.getByLabel('Check an extract').setInputFiles(path)
    await page.getByText('The extract is as it was signed.').waitFor()
    await page.getByText(`Rows: ${MARCH}.`).waitFor()
    expect(await readClicks(page)).toBe(2)
    at.visitor.expectClean()
  })

  it('prints the report about a person with two clicks, ten look-ups on a page', async () => {
    const { page } = at.visitor
    await startAtOverview()
    await open('People')
    await page.getByLabel('Number', { exact: true }).fill(NIN)
    await page.getByLabel('Reason').fill(REASON)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Who asked' }).waitFor()
    await page.getByRole('button', { name: 'Print' }).click()
    expect(await page.evaluate('window.printed')).toBe(1)
    expect(await readClicks(page)).toBe(2)
    const text = await expectPrint(page)
    expect(text).toMatch(/Shop Ltd\s+12 Marina Road, Lagos\s+privacy@shop\.example\s+Report about a person/)
    expect(text).toMatch(/Released\s*all fields but next of kin, place of origin/)
    expect(text).toContain(`5 Mar ${YEAR}, 14:03:22, loans app`)
    at.visitor.expectClean()
  })

  /** What is on paper. */
  const expectPrint = async (page: Page): Promise<string> => {
    const pdf = await page.pdf({ preferCSSPageSize: true, tagged: true, outline: true })
    await page.emulateMedia({ media: 'print' })
    await page.setViewportSize({ width: PRINTED_WIDTH, height: 1000 })
    const report = page.locator('.report')
    const cards = [await report.locator('article').count(), await report.locator('article:visible').count()]
    const [bad, text] = [await page.evaluate(FIND_BAD_PRINT), await report.innerText()]
    const controls = await page.locator(':is(form, nav, button, a):visible').count()
    await page.emulateMedia({ media: null })
    await page.setViewportSize({ width: 1280, height: 900 })
    expect([cards[0] === cards[1], bad, controls]).toEqual([true, [], 0])
    const lookUps = countLookUps(pdf)
    expect([lookUps.length, lookUps.reduce((sum, count) => sum + count)]).toEqual([2, LOOK_UPS])
    expect(lookUps[0]).toBeGreaterThanOrEqual(10)
    return text
  }

  it('gets a document with the same layout', async () => {
    const { page } = at.visitor
    const downloading = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Save as document' }).click()
    const document = await at.browser.newPage()
    const file = join(at.server.dataDir, 'report.html')
    await (await downloading).saveAs(file)
    await document.goto(`file://${file}`)
    expect(await expectPrint(document)).toMatch(/Reference\s*ver_[0-9a-z]{36}/)
    await document.close()
  })

  it('prints the values as well, for an owner who gives a reason', async () => {
    const { page } = at.visitor
    await page.getByRole('button', { name: 'Show values…' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Reason').fill(REASON)
    await dialog.getByRole('textbox', { name: 'Your password' }).fill(PASSWORD)
    await dialog.getByRole('button', { name: 'Show values' }).click()
    await page.getByRole('button', { name: 'Show values…' }).waitFor({ state: 'detached' })
    const text = await expectPrint(page)
    expect(text).toMatch(/Phone number\s*08031234567/i)
    at.visitor.expectClean()
  })

  // 512 and 720 are 1024 and 1440 at twice the zoom.
  it.each([390, 512, 720, 768, 1024, 1440])('reads the report at %i px', async (width) => {
    const { page } = at.visitor
    await page.setViewportSize({ width, height: 900 })
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width)
    expect(await findAxeViolations(page)).toEqual([])
    at.visitor.expectClean()
  })

  it('reads the report in the dark', async () => {
    const { page } = at.visitor
    await page.emulateMedia({ colorScheme: 'dark' })
    // Colours change over a moment.
    await expect.poll(() => findAxeViolations(page, COLOUR_RULES)).toEqual([])
    await page.emulateMedia({ colorScheme: 'light' })
    at.visitor.expectClean()
  })

  it('opens the timeline of a look-up from its card', async () => {
    const { page } = at.visitor
    const link = page.getByRole('link', { name: /^Timeline of ver_/ }).first()
    const reference = (await link.getAttribute('aria-label'))?.replace('Timeline of ', '') ?? ''
    await link.click()
    await page.getByRole('heading', { name: 'Timeline of a verification' }).waitFor()
    await page.locator('main').getByText(reference, { exact: true }).waitFor()
    at.visitor.expectClean()
  })
})
