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

it.each([
  ['exit 3', 'failed with exit code 3'],
  ['kill -9 $$', 'was ended by SIGKILL'],
])('says how a command failed (%s), and tells its last line on standard error apart', async (end, how) => {
  const told: string[] = []
  const tell = (line: string) => void told.push(line)
  await expect(
    runCommand(`echo first >&2; echo no such cluster >&2; ${end}`, { tell }),
  ).rejects.toMatchObject({ message: `The command of --failover-command ${how}.` })
  expect(told).toEqual(['no such cluster'])
})

it('ends a command that takes too long, with all that it has started', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tabbat-command-'))
  const [started, ended] = [join(folder, 'started'), join(folder, 'ended')]
  const inner = `sh -c "trap 'touch ${ended}; exit' TERM; touch ${started}; while :; do sleep 0.1; done"`
  await expect(runCommand(`${inner} & wait`, { withinMs: 2000 })).rejects.toThrow('did not end within 2.0 s')
  expect(existsSync(started)).toBe(true)
  await expect.poll(() => existsSync(ended), { timeout: 10_000 }).toBe(true)
})
