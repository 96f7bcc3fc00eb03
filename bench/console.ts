import { CHROMIUM, launch, visit } from '../test/console/browser.ts'
import { acceptInvitation } from '../test/console/console-server.ts'
import { startFilledServer } from '../test/console/filled-server.ts'
import { median } from './rounds.ts'

/** Time until the overview is usable, in a new browser context: npm run bench:console */
const ROUNDS = 9

if (!CHROMIUM) throw new Error('No Chromium is installed.')
const server = await startFilledServer()
const browser = await launch()
try {
  const first = await visit(browser)
  await acceptInvitation(first.page, await server.invite('owner'), 'ada')
  const cookies = await first.page.context().cookies()
  const times: number[] = []
  let bytes = 0
  for (let round = 0; round < ROUNDS; round++) {
    const { page, close } = await visit(browser)
    await page.context().addCookies(cookies)
    const startedAt = performance.now()
    await page.goto(`${server.admin}/console#/overview`)
    // The overview is rendered and its buttons work.
    await page.getByText('Live', { exact: true }).filter({ visible: true }).first().waitFor()
    times.push(performance.now() - startedAt)
    bytes = Number(
      await page.evaluate(
        "performance.getEntriesByType('resource').filter((each) => each.name.includes('/console/assets/')).reduce((sum, each) => sum + each.transferSize, 0)",
      ),
    )
    await close()
  }
  console.log(`console, cold browser context, ${ROUNDS} rounds: until the overview is live`)
  console.log(
    `median ${median(times).toFixed(0)} ms, slowest ${Math.max(...times).toFixed(0)} ms; ${bytes} bytes of script and style`,
  )
} finally {
  await browser.close()
  await server.stop()
}
