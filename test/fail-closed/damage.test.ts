import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, fstatSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, it, onTestFinished } from 'vitest'
import { createClient } from '../battery/client.ts'
import { createPlace, PEOPLE, PHONE, toNin } from '../battery/place.ts'

const PAGE_BYTES = 4096
const MOST_ASKS = 2000

/** Writes nonsense over a file but for its beginning, while others have it open. The people lie at its end. */
function damage(path: string): void {
  const file = openSync(path, 'r+')
  const pages = Math.floor(fstatSync(file).size / PAGE_BYTES)
  const nonsense = Buffer.alloc(PAGE_BYTES, 0xa5)
  for (let page = Math.floor(pages / 4); page < pages; page++)
    writeSync(file, nonsense, 0, PAGE_BYTES, page * PAGE_BYTES)
  closeSync(file)
}

it('a server whose database is damaged while it runs ends, says why, and discloses nothing of it', async () => {
  const { settings, keys } = await createPlace({ TABBAT_LOG_LEVEL: 'info' })
  const folder = settings.TABBAT_DATA_DIR ?? ''
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const child = spawn('bin/tabbat', ['serve'], {
    env: { PATH: process.env.PATH ?? '', TABBAT_PORT: '0', TABBAT_ADMIN_PORT: 'off', ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const log = text(child.stderr)
  const ended = once(child, 'exit')
  const [banner] = await once(child.stdout, 'data')
  const url = /listening on +(\S+)/.exec(String(banner))?.[1]
  const client = createClient(4)
  const ask = (index: number) =>
    client
      .post(
        `${url}/api/v2/kyc/verify-nin`,
        { nin: toNin(index % PEOPLE), phone: PHONE },
        { authorization: keys.live },
      )
      .then(
        ({ status }) => status,
        () => 0,
      )
  expect(await ask(0)).toBe(200)

  damage(join(folder, 'tabbat.db'))
  for (let index = 0; index < MOST_ASKS && child.exitCode === null; index++) await ask(index)
  expect((await ended)[0]).toBe(1)
  client.close()
  const lines = (await log).trim().split('\n')
  expect(lines.some((line) => JSON.parse(line).event === 'database_damaged')).toBe(true)
  expect(await log).not.toContain(toNin(0).slice(0, 8))
})
