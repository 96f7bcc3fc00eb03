import { readFileSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { newDataDir, startServer, tabbat } from './tabbat.ts'

const readEvents = (path: string): string[] => {
  try {
    return readFileSync(path, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line).event as string)
  } catch {
    return []
  }
}
const count = (path: string, event: string) => readEvents(path).filter((each) => each === event).length

it.each(['1', '2'])('a server of %s workers opens its log file again on SIGHUP', async (TABBAT_WORKERS) => {
  const path = join(newDataDir(), 'tabbat.log')
  const server = await startServer({ TABBAT_LOG_FILE: path, TABBAT_WORKERS, TABBAT_SHUTDOWN_DELAY: 'off' })
  const ask = () => fetch(`${server.url}/health/live`, { headers: { connection: 'close' } })
  const workers = Number(TABBAT_WORKERS)
  await expect.poll(() => count(path, 'started')).toBe(workers)
  for (let sent = 0; sent < 4; sent++) await ask()
  await expect.poll(() => count(path, 'request')).toBe(4)

  renameSync(path, `${path}.1`)
  server.child.kill('SIGHUP')
  // The process that started the workers opens it, too.
  const processes = workers === 1 ? 1 : workers + 1
  await expect.poll(() => count(path, 'log_reopened')).toBe(processes)
  for (let sent = 0; sent < 4; sent++) await ask()
  expect(await server.stop()).toBe(0)
  expect([count(`${path}.1`, 'request'), count(path, 'request')]).toEqual([4, 4])
  expect(count(path, 'stopped')).toBe(workers)
})

it('a server whose log file cannot be opened does not start', async () => {
  const settings = { TABBAT_DATA_DIR: newDataDir(), TABBAT_LOG_FILE: '/nowhere/tabbat.log' }
  const { code, stderr } = await tabbat(settings, 'serve')
  expect([code, stderr]).toEqual([1, expect.stringMatching(/^error: The log file .* \(ENOENT\)/)])
})
