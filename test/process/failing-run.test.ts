import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, it } from 'vitest'

/** A process that was killed, and whose parent was killed before it could notice, is a zombie. */
const isRunning = (pid: number) => {
  const { stdout } = spawnSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' })
  return stdout !== '' && !stdout.startsWith('Z')
}

it('tests that fail and leave processes, servers and loops behind do not keep a run from ending', async () => {
  const pids = join(mkdtempSync(join(tmpdir(), 'tabbat-planted-')), 'pids')
  const args = ['node_modules/vitest/vitest.mjs', 'run', '--config', 'test/run/planted/vitest.config.ts']
  const run = spawn(process.execPath, args, {
    env: { PATH: process.env.PATH ?? '', PLANTED_PIDS: pids },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [stdout, stderr, [code]] = await Promise.all([text(run.stdout), text(run.stderr), once(run, 'close')])
  expect(code).toBe(1)
  for (const name of ['left-child', 'endless-loop', 'left-server']) expect(stdout + stderr).toContain(name)
  expect(stderr).toMatch(/^sleep \(\d+\) was left running\. It is killed\.$/m)
  expect(stderr).toMatch(/^\S*endless-loop\.planted\.ts has blocked its event loop for /m)
  const left = readFileSync(pids, 'utf8').trim().split('\n').map(Number)
  expect(left).toHaveLength(2)
  expect(left.filter(isRunning)).toEqual([])
}, 300_000)
