import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { DEMO_NOTICE } from '../../src/contract/demo.ts'
import { TABBAT } from '../process/tabbat.ts'
import { CHROMIUM, findAxeViolations, launch, type Visit, visit } from './browser.ts'
import { acceptInvitation } from './console-server.ts'
import { PAGES } from './filled-server.ts'

type Demo = Readonly<Record<'api' | 'console' | 'link' | 'metrics' | 'data_dir', string>>

describe.skipIf(!CHROMIUM)('the console of a demonstration', () => {
  let child: ChildProcess
  let demo: Demo
  let browser: Browser
  let visitor: Visit
  beforeAll(async () => {
    child = spawn(TABBAT.file, ['demo', '--days', '1', '--json'], {
      env: { PATH: process.env.PATH ?? '', HOME: tmpdir(), TMPDIR: tmpdir() },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let printed = ''
    for await (const piece of child.stdout ?? []) {
      printed += piece
      if (printed.includes('\n')) break
    }
    demo = JSON.parse(printed)
    browser = await launch()
    visitor = await visit(browser)
  }, 600_000)
  afterAll(async () => {
    await browser?.close()
    if (child?.exitCode === null) child.kill('SIGKILL')
  })

  const notice = () => visitor.page.getByRole('complementary', { name: 'Demonstration' })

  it('says so before and after signing in, on every page', async () => {
    const { page } = visitor
    await page.goto(demo.console)
    await page.getByRole('button', { name: 'Sign in', exact: true }).waitFor()
    expect(await notice().textContent()).toBe(DEMO_NOTICE)
    await page.goto(demo.link)
    await page.getByRole('button', { name: 'Create account' }).waitFor()
    expect(await notice().isVisible()).toBe(true)
    await acceptInvitation(page, demo.link, 'ada')
    for (const { name, title } of PAGES) {
      await page.goto(`${demo.console}#/${name}`)
      await page.getByRole('heading', { name: title, level: 1 }).waitFor()
      expect(await notice().isVisible(), title).toBe(true)
    }
    expect(await findAxeViolations(page)).toEqual([])
    visitor.expectClean()
  })

  it('prints the notice', async () => {
    await visitor.page.emulateMedia({ media: 'print' })
    expect(await notice().isVisible()).toBe(true)
    await visitor.page.emulateMedia({ media: 'screen' })
  })

  it('marks its responses and its metrics', async () => {
    for (const url of [`${demo.api}/health/live`, `${demo.api}/api/v2/sme-data/list`, demo.metrics])
      expect((await fetch(url)).headers.get('tabbat-demo'), url).toBe('true')
    expect(await (await fetch(demo.metrics)).text()).toMatch(/^tabbat_demo 1$/m)
  })

  it('has customers who come', async () => {
    const count = async () =>
      Number(
        /tabbat_requests_total\{operation="verify_nin",mode="live",outcome="verified"\} (\d+)/.exec(
          await (await fetch(demo.metrics)).text(),
        )?.[1] ?? 0,
      )
    const before = await count()
    await expect.poll(count).toBeGreaterThan(before)
  })

  it('is deleted after Ctrl-C', async () => {
    expect(existsSync(demo.data_dir)).toBe(true)
    child.kill('SIGINT')
    expect(await once(child, 'close')).toEqual([0, null])
    expect(existsSync(demo.data_dir)).toBe(false)
  })
})
