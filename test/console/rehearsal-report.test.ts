import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createRecorder } from '../../src/rehearsal/finding.ts'
import { toReportJson, toReportPage } from '../../src/rehearsal/report-page.ts'
import { CHROMIUM, findAxeViolations, launch, visit } from './browser.ts'

/** With every status, and texts that would be markup. */
function createReport() {
  const good = createRecorder({ name: 'vendor-down', title: 'A vendor is down' })
  for (let at = 0; at < 4000; at += 20) good.sample({ at, ms: 1 + (at % 700), status: 200, code: 'verified' })
  good.sample({ at: 500, ms: 12_000, status: 503, code: 'source_unavailable' })
  good.sample({ at: 700, ms: 3, status: 0, code: 'no_answer' })
  const end = good.beginFault('dojah: <b>reset</b>')
  good.check('another vendor answers', '15 × 200 verified', true)
  good.detected(600)
  good.recovered(5000)
  end()
  const bad = createRecorder({ name: 'restore', title: 'A backup is restored' })
  bad.check('the backup <can> be restored', 'The file is "damaged" & cut off.', false)
  const skipped = createRecorder({ name: 'failover', title: 'Another server takes over' })
  skipped.note('Give --failover-command.')
  const stuck = createRecorder({ name: 'kill', title: 'The server is killed' })
  stuck.note('A server on the copy did not start.')
  return {
    format: 'tabbat-rehearsal',
    version: 1,
    tabbat: '0.3.0',
    startedAt: '2026-11-17T10:00:00.000Z',
    tookMs: 167_000,
    place: 'a copy of SQLite /srv/tabbat/tabbat.db',
    notes: ['Vendors and receivers of webhooks were simulated on this machine.'],
    exitCode: 1,
    findings: [
      good.toFinding(),
      bad.toFinding(),
      skipped.toFinding('skipped'),
      stuck.toFinding('could_not_run'),
    ],
  } as const
}

const page = toReportPage(createReport())

it('the page of a rehearsal needs nothing else: no script, no link, no picture from elsewhere', () => {
  expect(page).not.toMatch(/<script|<link|<img|https?:|url\(/)
  expect(page).toContain("default-src 'none'")
})

it('texts in it are never markup', () => {
  expect(page).not.toContain('<b>reset')
  expect(page).toContain('dojah: &lt;b&gt;reset')
  expect(page).toContain('the backup &lt;can&gt; be restored')
})

it('the JSON has the answers only where they are wanted', () => {
  const { exercises } = toReportJson(createReport(), false)
  expect(exercises[0]).toMatchObject({ name: 'vendor-down', detect_ms: 600, recover_ms: 5000, answers: 202 })
  expect(exercises[0]).not.toHaveProperty('samples')
  expect(toReportJson(createReport(), true).exercises[0]?.samples).toHaveLength(202)
})

describe.skipIf(!CHROMIUM)('the page of a rehearsal, in a browser', () => {
  const file = join(mkdtempSync(join(tmpdir(), 'tabbat-report-')), 'report.html')
  let browser: Browser

  beforeAll(async () => {
    writeFileSync(file, page)
    browser = await launch()
  })
  afterAll(() => browser?.close())

  for (const colorScheme of ['light', 'dark'] as const)
    for (const width of [390, 1280])
      it(`is axe clean and fits at ${width} px in the ${colorScheme} theme`, async () => {
        const visited = await visit(browser, { colorScheme, viewport: { width, height: 900 } })
        await visited.page.goto(`file://${file}`)
        expect(await findAxeViolations(visited.page)).toEqual([])
        expect(await visited.page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width)
        visited.expectClean()
        await visited.close()
      })
})
