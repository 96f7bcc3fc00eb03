import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { text } from 'node:stream/consumers'
import { beforeEach, describe, expect, it } from 'vitest'
import { toCommandAuthor } from '../../../src/contract/free-text.ts'
import { TABBAT, tabbat } from '../../process/tabbat.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tabbat-interrupt-'))
})

const settings = () => ({ TABBAT_DATA_DIR: join(folder, 'data') })

const toRows = (count: number) =>
  Array.from({ length: count }, (_each, index) =>
    JSON.stringify({
      nin_number: String(70_000_000_000 + index),
      personal_info: { phone_number: '08031234567' },
    }),
  ).join('\n')

function start(...args: string[]) {
  const env = { PATH: process.env.PATH ?? '', ...settings() }
  const child = spawn(TABBAT.file, ['import', 'nin', ...args], { env, stdio: 'pipe' })
  const ended = Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  return { child, ended: ended.then(([stdout, stderr, [code]]) => ({ stdout, stderr, code })) }
}

/** Undefined until the table exists. */
function query(sql: string): Record<string, unknown>[] | undefined {
  try {
    const database = new DatabaseSync(join(folder, 'data/tabbat.db'), { readOnly: true, timeout: 5000 })
    try {
      return database.prepare(sql).all() as Record<string, unknown>[]
    } finally {
      database.close()
    }
  } catch {
    return undefined
  }
}
const countRecords = () => Number(query('SELECT COUNT(*) AS n FROM registry')?.[0]?.n ?? 0)
const listEnds = () =>
  query("SELECT outcome, detail FROM audit WHERE phase = 'imported' ORDER BY time")?.map(
    ({ outcome, detail }) => `${outcome}: ${detail}`,
  )

describe('an import that gets a signal', () => {
  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)(
    'saves the rows read so far on %s, and reports that standard input cannot be continued',
    async (signal, code) => {
      const { child, ended } = start('-')
      // The process ends while some of this is still in the pipe.
      child.stdin.on('error', () => {})
      // More than the read buffer and one batch. The pipe stays open, so the import cannot finish.
      child.stdin.write(`${toRows(200_000)}\n`)
      await expect.poll(countRecords).toBeGreaterThan(0)
      child.kill(signal)
      const { stdout, stderr, code: exitCode } = await ended
      expect(exitCode).toBe(code)
      expect(stderr).toContain('Stopping: saving the rows read so far.')
      const kept = Number(/Saved: (\d+) records/.exec(stdout)?.[1])
      expect(kept).toBe(countRecords())
      expect(stdout).toContain('This input cannot be continued. Import it again from the start')
      expect(listEnds()).toEqual([
        `interrupted: nin: ${kept} records, ${kept} new or changed, 0 rejected; by ${toCommandAuthor()}`,
      ])
    },
  )

  it('names the line at which the same command continues, and continues there', async () => {
    // Many commits: the import must not end before the signal arrives.
    const total = 150_000
    const file = join(folder, 'people.ndjson')
    writeFileSync(file, toRows(total))
    const { child, ended } = start(file)
    await expect.poll(countRecords, { interval: 20 }).toBeGreaterThan(0)
    child.kill('SIGINT')
    const { stdout, code } = await ended
    expect(code).toBe(130)
    const line = Number(/Run the same command again to continue at line (\d+)\./.exec(stdout)?.[1])
    expect(line).toBe(countRecords() + 1)
    const again = await tabbat(settings(), 'import', 'nin', file)
    expect([again.code, again.stderr.includes(`continuing at line ${line}`)]).toEqual([0, true])
    expect(countRecords()).toBe(total)
    expect(listEnds()).toEqual([
      expect.stringMatching(/^interrupted: nin: /),
      `ok: nin: ${total} records, ${total} new or changed, 0 rejected; by ${toCommandAuthor()}`,
    ])
  })

  it('also records an import that fails by itself', async () => {
    const file = join(folder, 'people.ndjson')
    writeFileSync(file, `${toRows(1)}\nbad`)
    expect((await tabbat(settings(), 'import', 'nin', '--strict', file)).code).toBe(1)
    expect(listEnds()).toEqual([expect.stringMatching(/^failed: nin: .*; by \S+ \(cli\)$/)])
  })
})
