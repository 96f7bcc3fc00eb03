import { existsSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { runCommand } from '../../src/rehearsal/command.ts'

it('runs a command that says more than a buffer of a megabyte holds', async () => {
  const done = join(mkdtempSync(join(tmpdir(), 'tabbat-command-')), 'done')
  await runCommand(`head -c 3000000 /dev/zero | tr '\\0' x; head -c 3000000 /dev/zero >&2; touch ${done}`)
  expect(existsSync(done)).toBe(true)
})

it('says how a command failed, with its last line on standard error', async () => {
  await expect(runCommand('echo first >&2; echo no such cluster >&2; exit 3')).rejects.toThrow(
    'The command of --failover-command failed (3): no such cluster',
  )
})

it('ends a command that takes too long, with all that it has started', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tabbat-command-'))
  const [started, ended] = [join(folder, 'started'), join(folder, 'ended')]
  const inner = `sh -c "trap 'touch ${ended}; exit' TERM; touch ${started}; while :; do sleep 0.1; done"`
  await expect(runCommand(`${inner} & wait`, 2000)).rejects.toThrow('did not end within 2.0 s')
  expect(existsSync(started)).toBe(true)
  await expect.poll(() => existsSync(ended), { timeout: 10_000 }).toBe(true)
})
