import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { expect, it } from 'vitest'
import { childrenOf, newDataDir, TABBAT } from './tabbat.ts'

it.each(['1', '2'])('SIGUSR1 opens no debugger port, with TABBAT_WORKERS=%s', async (workers) => {
  const child = spawn(TABBAT.file, ['serve'], {
    env: {
      PATH: process.env.PATH ?? '',
      TABBAT_PORT: '0',
      TABBAT_ADMIN_PORT: '0',
      TABBAT_DATA_DIR: newDataDir(),
      TABBAT_WORKERS: workers,
      TABBAT_LOG_LEVEL: 'silent',
      TABBAT_SHUTDOWN_DELAY: 'off',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const errors = text(child.stderr)
  let banner = ''
  for await (const piece of child.stdout) {
    banner += piece
    if (banner.includes('reference')) break
  }
  const url = /listening on +(\S+)/.exec(banner)?.[1]
  for (const pid of [child.pid, ...(await childrenOf(child.pid))]) process.kill(Number(pid), 'SIGUSR1')
  for (let count = 0; count < 20; count++) expect((await fetch(`${url}/health/live`)).status).toBe(200)
  child.kill('SIGTERM')
  const [code] = (await once(child, 'close')) as [number | null]
  expect([code, await errors]).toEqual([0, ''])
})
