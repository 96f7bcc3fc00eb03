import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { dojah } from '../../src/simulator/dojah.ts'
import { openStandIn, type StandIn } from '../../src/simulator/stand-in.ts'
import { childrenOf, newDataDir, startServer, tabbat } from './tabbat.ts'

const NIN = '12345678901'
const PHONE = '08035678901'

let vendor: StandIn
beforeAll(async () => {
  vendor = await openStandIn(dojah)
})
afterAll(() => vendor.close())

type File = { answers: { nin: { fields: { personal_info: { title: unknown } } } } }

/** The file of Dojah, with another place for the title. */
function writeFile(folder: string, title: unknown): void {
  const file = JSON.parse(readFileSync('vendors/dojah.json', 'utf8')) as File
  file.answers.nin.fields.personal_info.title = title
  writeFileSync(join(folder, 'dojah.json'), JSON.stringify(file), { mode: 0o600 })
}

it.each(['1', '2'])(
  'a server of %s workers reads vendor files again on SIGHUP, and keeps the old one if the new one is wrong',
  async (TABBAT_WORKERS) => {
    const folder = newDataDir()
    const log = join(newDataDir(), 'tabbat.log')
    writeFile(folder, 'title')
    const settings = {
      ...vendor.settings,
      TABBAT_WORKERS,
      TABBAT_DATA_DIR: newDataDir(),
      TABBAT_NIN_SOURCES: 'dojah',
      TABBAT_VENDORS_DIR: folder,
      TABBAT_LOG_FILE: log,
    }
    const created = await tabbat(settings, 'keys', 'create', '--name', 'shop', '--mode', 'live', '--json')
    const { key } = JSON.parse(created.stdout) as { key: string }
    const server = await startServer(settings)
    const readTitle = async () => {
      const answer = await fetch(`${server.url}/api/v2/kyc/verify-nin`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', connection: 'close' },
        body: JSON.stringify({ nin: NIN, phone: PHONE }),
      })
      const { data } = (await answer.json()) as { data: { personal_info: { title: string } } }
      return [answer.status, data.personal_info.title]
    }
    const listEvents = (name: string) =>
      readFileSync(log, 'utf8')
        .split('\n')
        .filter((line) => line.includes(`"${name}"`))
    try {
      await expect.poll(() => listEvents('started').length).toBe(Number(TABBAT_WORKERS))
      expect(await readTitle()).toEqual([200, ''])
      writeFile(folder, 'employment_status')
      server.child.kill('SIGHUP')
      await expect.poll(() => listEvents('vendors_reloaded').length).toBe(Number(TABBAT_WORKERS))
      for (let asked = 0; asked < 4; asked++) expect(await readTitle()).toEqual([200, 'employed'])

      writeFile(folder, 5)
      server.child.kill('SIGHUP')
      await expect.poll(() => listEvents('vendors_not_reloaded').length).toBe(Number(TABBAT_WORKERS))
      expect(listEvents('vendors_not_reloaded')[0]).toContain(
        'answers.nin.fields.personal_info.title must be a path',
      )
      for (let asked = 0; asked < 4; asked++) expect(await readTitle()).toEqual([200, 'employed'])
    } finally {
      expect(await server.stop()).toBe(0)
    }
    const refused = await tabbat(settings, 'serve')
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringContaining(`${join(folder, 'dojah.json')}: answers.nin`),
    ])
  },
)

it('SIGHUP ends no worker that is starting', async () => {
  const log = join(newDataDir(), 'tabbat.log')
  const folder = newDataDir()
  writeFile(folder, 'title')
  const server = await startServer({
    ...vendor.settings,
    TABBAT_WORKERS: '4',
    TABBAT_NIN_SOURCES: 'dojah',
    TABBAT_VENDORS_DIR: folder,
    TABBAT_LOG_FILE: log,
  })
  const countEvents = (name: string) => readFileSync(log, 'utf8').split(`"${name}"`).length - 1
  // The first worker prints the banner. The others start after it.
  await expect.poll(async () => (await childrenOf(server.child.pid)).length).toBe(4)
  server.child.kill('SIGHUP')
  await expect.poll(() => countEvents('started')).toBe(4)
  expect(countEvents('worker_died')).toBe(0)
  expect(await server.stop()).toBe(0)
})
