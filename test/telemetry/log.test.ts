import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, openSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { createLog } from '../../src/telemetry/log.ts'

const REQUEST = {
  requestId: `req_${'0'.repeat(32)}`,
  isOwnId: true,
  operation: 'verify_nin',
  mode: 'test',
  keyId: 'abc',
  status: 200,
  outcome: 'verified',
  durationMs: 1.5,
}

function writeAll(level: string): Record<string, unknown>[] {
  const path = join(mkdtempSync(join(tmpdir(), 'tabbat-log-')), 'log')
  const log = createLog(level, openSync(path, 'w'))
  log.request(REQUEST)
  log.event('warn', 'worker_died', { place: 2 })
  log.failure(new TypeError('secret'))
  log.event('info', 'stopped')
  log.flush()
  const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1)
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>)
}

it('writes every kind of line in the order of the calls, with level, time and event first', () => {
  const lines = writeAll('info')
  expect(lines.map(({ level, event }) => [level, event])).toEqual([
    [30, 'request'],
    [40, 'worker_died'],
    [50, 'failure'],
    [30, 'stopped'],
  ])
  for (const line of lines) {
    expect(Object.keys(line).slice(0, 3)).toEqual(['level', 'time', 'event'])
    expect(line.time).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/)
  }
  expect(JSON.stringify(lines)).not.toContain('secret')
})

it('leaves out lines below its level', () => {
  expect(writeAll('warn').map(({ event }) => event)).toEqual(['worker_died', 'failure'])
  expect(writeAll('error').map(({ event }) => event)).toEqual(['failure'])
  expect(writeAll('silent')).toEqual([])
})

it('goes on when the reader of the log has closed the pipe', async () => {
  const script = `
    import { createLog } from './src/telemetry/log.ts'
    const log = createLog('info')
    for (let count = 0; count < 5; count++) {
      log.event('info', 'x'.repeat(100_000))
      log.flush()
      await new Promise((done) => setTimeout(done, 50))
    }
    console.log('still here')`
  const command = `"$0" --input-type=module-typescript -e "$1" 2> >(head -c 1 >/dev/null)`
  const { stdout } = await promisify(execFile)('bash', ['-c', command, process.execPath, script])
  expect(stdout).toContain('still here')
})

const newFolder = () => mkdtempSync(join(tmpdir(), 'tabbat-log-'))
const readEvents = (path: string) =>
  readFileSync(path, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line).event as string)

it('appends to a file, and to a new one after it was renamed and opened again', () => {
  const path = join(newFolder(), 'tabbat.log')
  for (const round of [1, 2]) {
    const log = createLog('info', path)
    log.event('info', `started_${round}`)
    log.flush()
  }
  expect(readEvents(path)).toEqual(['started_1', 'started_2'])
  if (process.platform !== 'win32') expect(statSync(path).mode & 0o777 & ~0o640).toBe(0)

  const log = createLog('info', path)
  log.event('info', 'before')
  renameSync(path, `${path}.1`)
  log.event('info', 'renamed')
  log.reopen()
  log.event('info', 'after')
  log.flush()
  expect(readEvents(`${path}.1`)).toEqual(['started_1', 'started_2', 'before', 'renamed'])
  expect(readEvents(path)).toEqual(['log_reopened', 'after'])
})

it('keeps its file when it cannot be opened again', () => {
  const folder = newFolder()
  const inner = mkdtempSync(join(folder, 'inner'))
  const log = createLog('info', join(inner, 'tabbat.log'))
  renameSync(join(inner, 'tabbat.log'), join(folder, 'kept.log'))
  rmSync(inner, { recursive: true })
  log.reopen()
  log.event('info', 'after')
  log.flush()
  expect(readEvents(join(folder, 'kept.log'))).toContain('after')
})

it('is refused at the start when the file cannot be opened', () => {
  expect(() => createLog('info', '/nowhere/tabbat.log')).toThrow(
    'The log file /nowhere/tabbat.log cannot be opened (ENOENT). Check TABBAT_LOG_FILE and its folder.',
  )
})

it.runIf(existsSync('/dev/full'))('goes on when the disk is full', () => {
  const log = createLog('info', '/dev/full')
  log.event('info', 'lost')
  expect(() => log.flush()).not.toThrow()
})
