import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, openSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { beforeAll, describe, expect, it } from 'vitest'
import { newDataDir, TABBAT, tabbat } from './tabbat.ts'

/** A device of Linux to which nothing can be written, as on a full disk. */
const FULL = '/dev/full'
const LINUX = existsSync(FULL) ? '' : ` (skipped: there is no ${FULL})`

const settings = { PATH: process.env.PATH ?? '', TABBAT_DATA_DIR: newDataDir() }

beforeAll(async () => {
  expect((await tabbat(settings, 'keys', 'create', '--name', 'shop', '--mode', 'test')).code).toBe(0)
})

/** With standard output or standard error on a full disk; the other one is read. */
async function runOnFullDisk(full: 1 | 2, ...args: string[]) {
  const device = openSync(FULL, 'w')
  const stdio = full === 1 ? (['ignore', device, 'pipe'] as const) : (['ignore', 'pipe', device] as const)
  const child = spawn(TABBAT.file, args, { env: settings, stdio: [...stdio] })
  closeSync(device)
  const read = child.stdout ?? child.stderr
  const [printed, [code]] = await Promise.all([read ? text(read) : '', once(child, 'close')])
  return { code: code as number | null, printed }
}

const SENTENCE =
  /^(?:Database: .*\n)?error: Standard output cannot be written: its disk is full \(ENOSPC\)\. Free some space, or send it elsewhere, and run the command again; what it has changed is changed\.\n$/

describe.runIf(existsSync(FULL))(`standard output on a full disk${LINUX}`, () => {
  it.each([
    [['--help']],
    [['help', 'keys', 'create']],
    [['--version']],
    [['keys', 'list']],
    [['keys', 'list', '--json']],
    [['audit', 'export']],
    [['completion', 'bash']],
    [['rehearse', '--list']],
  ])('tabbat %j ends with 2 and a sentence', async (args) => {
    const { code, printed } = await runOnFullDisk(1, ...args)
    expect(printed).toMatch(SENTENCE)
    expect(code).toBe(2)
  })

  it('a server goes on without its banner', async () => {
    const device = openSync(FULL, 'w')
    const child = spawn(TABBAT.file, ['serve'], {
      env: { ...settings, TABBAT_PORT: '0', TABBAT_ADMIN_PORT: 'off', TABBAT_SHUTDOWN_DELAY: 'off' },
      stdio: ['ignore', device, 'pipe'],
    })
    closeSync(device)
    const closed = once(child, 'close')
    let log = ''
    child.stderr?.on('data', (piece) => {
      log += piece
      if (log.includes('"event":"started"')) child.kill('SIGTERM')
    })
    expect(await closed).toEqual([0, null])
    expect(log).toContain('"event":"stopped"')
  })

  it('a command prints its result though standard error cannot be written', async () => {
    const { code, printed } = await runOnFullDisk(2, 'keys', 'list')
    expect(printed).toContain('shop')
    expect(code).toBe(0)
  })
})

it('a reader that goes away is no error', async () => {
  const child = spawn(TABBAT.file, ['keys', 'list'], { env: settings, stdio: ['ignore', 'pipe', 'pipe'] })
  child.stdout.destroy()
  const [printed, [code]] = await Promise.all([text(child.stderr), once(child, 'close')])
  expect(printed).toMatch(/^Database: .*\n$/)
  expect(code).toBe(0)
})
