import { execFile } from 'node:child_process'
import { mkdtempSync, openSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { createLog } from './log.ts'

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
