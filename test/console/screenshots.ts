import { execFileSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { HOUR_MS } from '../../src/contract/time.ts'
import { toSpanName } from '../../src/ledger/tally.ts'
import { toPhoneCoreOf } from '../../src/simulator/people.ts'
import { toClass } from '../../src/statistics/counters.ts'
import { CHROMIUM, launch, SKIPPED, visit } from './browser.ts'
import { acceptInvitation, type ConsoleServer, verifyNin } from './console-server.ts'
import { PAGES, startFilledServer } from './filled-server.ts'

/**
 * Writes the pictures of docs/console: npm run screenshots. A real server with synthetic people and a simulated vendor;
 * the statistics of the hours before are inserted.
 */
const FOLDER = 'docs/console'

/** Who was looked up twice. */
const PERSON = '60000000000'

type View = {
  readonly name: string
  readonly title: string
  readonly ready: string
  readonly filters?: string
}
/** Pages with something chosen in their address. */
const VIEWS: readonly View[] = [
  { name: 'overview', title: 'Overview', ready: 'Calls of all nodes', filters: 'chart=vendors' },
  { name: 'overview', title: 'Overview', ready: 'p95', filters: 'chart=latency' },
]

if (!CHROMIUM) throw new Error(SKIPPED)
mkdirSync(FOLDER, { recursive: true })
const server = await startFilledServer({ isHostile: false })
const browser = await launch()
try {
  const key = await makeKey(server)
  for (let count = 0; count < 15; count++) {
    const nin = String(Number(PERSON) + (count % 12))
    await verifyNin(server.api, key.text, nin, `0${toPhoneCoreOf(nin)}`)
  }
  insertHistory(server, key.id)
  const options = { viewport: { width: 1280, height: 860 }, timezoneId: 'Africa/Lagos', locale: 'en-GB' }
  const { page } = await visit(browser, options)
  await acceptInvitation(page, await server.invite('owner'), 'ada')
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    for (const { name, title, ready, filters = '' } of [...(PAGES as readonly View[]), ...VIEWS]) {
      await page.goto(`${server.admin}/console#/${name}${filters && `?${filters}`}`)
      await page.getByRole('heading', { name: title, level: 1 }).waitFor()
      await page.getByText(ready).filter({ visible: true }).first().waitFor()
      await page.getByText(/^\d+ warnings, /).waitFor()
      if (name === 'try') {
        await page.getByRole('button', { name: 'Send' }).click()
        await page.getByText('VERIFIED', { exact: true }).first().waitFor()
      }
      if (name === 'people') {
        await page.getByLabel('Number', { exact: true }).fill(PERSON)
        await page.getByLabel('Reason').fill('Request of access, case 17')
        await page.keyboard.press('Enter')
        await page.getByRole('heading', { name: 'Who asked' }).waitFor()
      }
      await page.evaluate('scrollTo(0, 0)')
      await page.mouse.move(0, 0)
      // The frame in which nothing is below the pointer any more.
      await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')
      await page.locator('.loading, [aria-busy=true]').first().waitFor({ state: 'detached' })
      await page.screenshot({
        path: join(FOLDER, `${filters ? `${name}-${filters.split('=')[1]}` : name}-${colorScheme}.png`),
      })
    }
  }
} finally {
  await browser.close()
  await server.stop()
}
shrink()

async function makeKey({ run }: ConsoleServer): Promise<{ readonly id: string; readonly text: string }> {
  const created = JSON.parse(await run('keys', 'create', '--name', 'counter', '--mode', 'live', '--json'))
  return { id: created.id, text: created.key }
}

/** Statistics of two days, with less traffic at night and less on the first day. */
function insertHistory({ dataDir }: ConsoleServer, keyId: string): void {
  const database = new DatabaseSync(join(dataDir, 'tabbat.db'), { timeout: 5000 })
  const insert = database.prepare(
    `INSERT INTO statistics VALUES ('hour', ?, 'inserted', 'verify_nin', 'live', ?, ?, ?, ?, ?, '')`,
  )
  const insertLatency = database.prepare(`INSERT INTO latencies VALUES ('hour', ?, 'inserted', 'live', ?, ?)`)
  const insertAnswers = database.prepare(`INSERT INTO answers VALUES ('hour', ?, 'inserted', 'live', ?, ?)`)
  const insertCalls = database.prepare(
    `INSERT INTO source_calls VALUES ('hour', ?, 'inserted', 'dojah', 'verify_nin', ?, ?, ?, ?)`,
  )
  for (let back = 47; back >= 1; back--) {
    const time = new Date(Date.now() - back * HOUR_MS).toISOString()
    const hour = toSpanName('hour', time)
    const wave = Math.max(0, Math.sin(((Number(time.slice(11, 13)) - 5) / 16) * Math.PI))
    const busy = Math.round((20 + 180 * wave) * (back > 23 ? 0.8 : 1))
    const latencyClass = toClass(180 + 120 * wave)
    for (const [more, part] of [
      [0, 0.8],
      [1, 0.15],
      [3, 0.05],
    ] as const) {
      insertLatency.run(hour, latencyClass + more, Math.ceil(busy * part))
      insertCalls.run(
        hour,
        'answered',
        latencyClass + more,
        Math.ceil(busy * part),
        Math.ceil(busy * part) * 5000,
      )
    }
    if (back % 5 === 0) insertCalls.run(hour, 'failed', toClass(8000), Math.round(busy / 20), 0)
    const add = (outcome: string, source: string, count: number) => {
      insert.run(hour, outcome, keyId, source, count, time)
      insertAnswers.run(hour, outcome, count)
    }
    if (back % 7 === 0) insertAnswers.run(hour, 'rate_limited', Math.round(busy / 12))
    add('verified', 'dojah', busy)
    add('not_verified', 'dojah', Math.round(busy / 9))
    if (back % 5 === 0) add('source_timeout', 'none', Math.round(busy / 20))
  }
  database.close()
}

/** Reduces the pictures to a quarter of their size, if pngquant is installed. */
function shrink(): void {
  try {
    execFileSync('sh', ['-c', `pngquant --force --ext .png --strip --quality 60-90 ${FOLDER}/*.png`])
  } catch {
    console.log('pngquant is not installed: the pictures are larger than necessary.')
  }
}
