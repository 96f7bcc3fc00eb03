import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { CHROMIUM, launch, SKIPPED, visit } from './browser.ts'
import { acceptInvitation } from './house.ts'
import { openLivelyHouse, ROOMS } from './lively.ts'

/** The pictures of docs/console, of a real server with synthetic people: npm run screenshots */
const FOLDER = 'docs/console'

if (!CHROMIUM) throw new Error(SKIPPED)
mkdirSync(FOLDER, { recursive: true })
const house = await openLivelyHouse()
const browser = await launch()
try {
  const { page } = await visit(browser, { viewport: { width: 1280, height: 860 } })
  await acceptInvitation(page, await house.invite('owner'), 'ada')
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    for (const { name, title, ready } of ROOMS) {
      await page.goto(`${house.admin}/console#/${name}`)
      await page.getByRole('heading', { name: title, level: 1 }).waitFor()
      await page.getByText(ready).filter({ visible: true }).first().waitFor()
      if (name === 'try') {
        await page.getByRole('button', { name: 'Send' }).click()
        await page.getByText('VERIFIED', { exact: true }).first().waitFor()
      }
      await page.screenshot({ path: join(FOLDER, `${name}-${colorScheme}.png`) })
    }
  }
} finally {
  await browser.close()
  await house.stop()
}
