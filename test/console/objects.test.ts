import { beforeAll, describe, expect, it } from 'vitest'
import { CHROMIUM, COLOUR_RULES, findAxeViolations } from './browser.ts'
import { setUpConsole } from './console-set-up.ts'
import { startFilledServer } from './filled-server.ts'

const WIDTHS = [390, 720, 768, 1024, 1440]

/** The objects that have a page, with the list on which each is found and a text of its page. */
const OBJECTS = [
  { list: 'keys', title: 'Keys', link: /^loans app$/, ready: /of 2,000/ },
  { list: 'webhooks', title: 'Webhooks', link: /^alarm$/, ready: 'Attempts of the last two days, by hour' },
  { list: 'sources', title: 'Sources', link: /^dojah$/, ready: 'not proved yet' },
  { list: 'requests', title: 'Requests', link: /^Details of req_/, ready: 'Send it again' },
  { list: 'batches', title: 'Batches', link: /^bat_/, ready: 'Kept until' },
  { list: 'settings', title: 'Settings', link: /worker \d/, ready: 'Sources, as seen from this node' },
]

describe.skipIf(!CHROMIUM)('the page of an object', () => {
  const at = setUpConsole({ start: startFilledServer })
  const addresses = new Map<string, string>()

  it.each(OBJECTS)(
    'is one click from its list, has an address and no axe violations: $list',
    async (object) => {
      const { page } = at.visitor
      await page.goto(`${at.server.admin}/console#/${object.list}`)
      await page.getByRole('main').getByRole('link', { name: object.link }).first().click()
      await page.getByText(object.ready).first().waitFor()
      const address = page.url()
      expect(address).toMatch(new RegExp(`#/${object.list}/.`))
      addresses.set(object.list, address)
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme })
        await page.goto('about:blank')
        await page.goto(address)
        await page.getByText(object.ready).first().waitFor()
        expect(await findAxeViolations(page, colorScheme === 'dark' ? COLOUR_RULES : undefined)).toEqual([])
      }
      at.visitor.expectClean()
    },
  )

  it.each(OBJECTS)('fits at every width: $list', async ({ list, ready }) => {
    const { page } = at.visitor
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 900 })
      await page.goto(addresses.get(list) ?? '')
      await page.getByText(ready).first().waitFor()
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width)
    }
    await page.setViewportSize({ width: 1280, height: 900 })
    at.visitor.expectClean()
  })

  it.each([
    ['keys/nosuchid', 'No key with this id is stored'],
    ['webhooks/whk_nosuch', 'There is no endpoint with this id'],
    ['sources/nosuch', 'No vendor of this name is configured'],
    ['requests/req_00000000000000000000000000000000', 'The request log has no request with this id'],
    ['batches/bat_nosuch', 'There is no batch with this id'],
    ['settings/nosuch', 'No process of this node has reported lately'],
  ])('says that there is no such object: %s', async (address, text) => {
    const { page } = at.visitor
    at.visitor.allow(/status of 4(04|09|22)/)
    await page.goto(`${at.server.admin}/console#/${address}`)
    await page.getByText(text).waitFor()
    expect(await findAxeViolations(page)).toEqual([])
  })

  describe('of a key', () => {
    let id = ''
    beforeAll(async () => {
      const args = ['--name', 'till', '--mode', 'live', '--json', '--subjects-per-day', '5']
      const created = JSON.parse(await at.server.run('keys', 'create', ...args)) as {
        id: string
        key: string
      }
      id = created.id
      for (const [nin, phone] of [
        ['30000000001', '08031234567'],
        ['30000000002', '08031234567'],
        ['3', '08031234567'],
      ])
        await fetch(`${at.server.api}/api/v2/kyc/verify-nin`, {
          method: 'POST',
          headers: { authorization: `Bearer ${created.key}`, 'content-type': 'application/json' },
          body: JSON.stringify({ nin, phone }),
        })
    })

    it('has its quota of today and its refusals', async () => {
      const { page } = at.visitor
      await page.goto(`${at.server.admin}/console#/keys/${id}`)
      await page.getByText('2 of 5').waitFor()
      await expect
        .poll(async () => {
          await page.goto(`${at.server.admin}/console#/overview`)
          await page.goto(`${at.server.admin}/console#/keys/${id}`)
          await page
            .getByText('No request with this key')
            .or(page.getByRole('region', { name: 'Why requests were not answered' }))
            .waitFor()
          return page.locator('main').textContent()
        })
        .toMatch(/Answered2 of 3Refused \(4xx\)1.*validation failed4221/)
      await page.getByRole('link', { name: 'validation failed' }).click()
      await page.getByText('422 validation failed').waitFor()
      at.visitor.expectClean()
    })

    it('does not say that there were no requests while the request log is off', async () => {
      const { page } = at.visitor
      await page.route('**/admin/requests/rates?*', (route) =>
        route.fulfill({ json: { recorded: false, keys: [], keyless: [] } }),
      )
      await page.goto(`${at.server.admin}/console#/overview`)
      await page.goto(`${at.server.admin}/console#/keys/${id}`)
      await page.getByText('The request log is off.').waitFor()
      expect(await page.getByText('No request with this key').count()).toBe(0)
      await page.unrouteAll({ behavior: 'wait' })
      at.visitor.expectClean()
    })

    it('revokes it', async () => {
      const { page } = at.visitor
      await page.goto(`${at.server.admin}/console#/keys/${id}`)
      await page.getByRole('button', { name: 'Revoke till' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByRole('textbox').fill(id)
      await dialog.getByRole('button', { name: 'Revoke' }).click()
      await page.getByText('revoked', { exact: true }).waitFor()
      at.visitor.expectClean()
    })
  })
})
