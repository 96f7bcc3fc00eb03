import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { beforeAll, describe, expect, it } from 'vitest'
import { newDataDir, TABBAT, tabbat } from './tabbat.ts'

const folder = newDataDir()
const data = join(folder, 'data')
const settings = { PATH: process.env.PATH ?? '', TABBAT_DATA_DIR: data }
const [answer, backup, readable] = ['answer.json', 'good.backup', 'folder'].map((name) =>
  join(folder, name),
) as [string, string, string]
const VENDOR = 'vendors/dojah.json'
const NIN = '31234567890'

beforeAll(async () => {
  writeFileSync(answer, '{}')
  mkdirSync(readable)
  for (const args of [
    ['keys', 'create', '--name', 'shop', '--mode', 'test'],
    ['backup', backup],
  ])
    expect((await tabbat(settings, ...args)).code).toBe(0)
})

/** Files that a command reads: `?` is the file. */
const READING = [
  'audit check-proof ?',
  'audit verify-extract ?',
  'audit verify --public-key ?',
  `vendors try ${VENDOR} --answer ?`,
  `vendors try ${VENDOR} --answer ${answer} --number-file ?`,
  'import nin ?',
  'person erase-again ? --yes',
  'backup revocations ?',
  `backup check ${backup} --database-url-file ?`,
  `restore ${backup} --data-dir ${join(folder, 'restored')} --erasures ?`,
  'rehearse --url https://staging.example.com --yes-on-a-copy --key-file ?',
]

/** A file of Linux whose first bytes cannot be read, a device without an end, and a folder. */
const FILES = ['/proc/self/mem', '/dev/zero', readable].filter((path) => existsSync(path))

describe.each(FILES)('the file %s', (file) => {
  it.each(READING.filter((line) => file !== '/dev/zero' || !line.startsWith('import')))(
    'is refused in a sentence by tabbat %s',
    async (line) => {
      const { code, stdout, stderr } = await tabbat(settings, ...line.replace('?', file).split(' '))
      expect(`${stdout}${stderr}`).not.toMatch(/bug in Tabbat|\n +at |unknown error/)
      // A folder may have the files of that name; this one has none.
      expect(code).not.toBe(null)
      if (file !== readable) expect(code).toBeGreaterThan(0)
    },
  )
})

describe('a message', () => {
  it.each([
    ['import', 'nin', NIN],
    ['import', 'nin', `customer-${NIN}.csv`],
    ['import', 'nin', `nin_${NIN}.csv`],
    ['verify-file', 'nin', NIN],
    ['backup', `${NIN}/file`],
    ['admin', 'role', NIN, 'owner'],
    ['sources', 'check', NIN],
    ['keys', 'usage', '--from', NIN],
  ])('does not repeat a number that was given by mistake: tabbat %s %s', async (...args) => {
    const { code, stderr } = await tabbat(settings, ...args)
    expect(stderr).toContain('[number]')
    expect(stderr).not.toContain(NIN)
    expect(code).toBe(1)
  })

  it('names the end of a range, which is no number of a person', async () => {
    const { stderr } = await tabbat(settings, 'demo', '--seed', NIN)
    expect(stderr).toContain("argument '[number]' is invalid. It must be a number from 0 to 4294967295.")
  })

  it('does not steer the terminal, and does not repeat a whole file', async () => {
    const { stderr } = await tabbat(settings, 'keys', 'usage', '--from', `\u001b[31m${'x'.repeat(5000)}`)
    expect(stderr).not.toContain('\u001b')
    expect(stderr.length).toBeLessThan(500)
  })
})

it('standard input that is closed or empty is refused in a sentence', async () => {
  for (const stdio of ['ignore', 'pipe'] as const) {
    const child = spawn(TABBAT.file, ['unlock', 'nin', '--reason', 'a caller asked'], {
      env: settings,
      stdio: [stdio, 'ignore', 'pipe'],
    })
    child.stdin?.end()
    const [printed, [code]] = await Promise.all([
      child.stderr ? text(child.stderr) : '',
      once(child, 'close'),
    ])
    expect(printed).toContain('error: A NIN has 11 digits.')
    expect(code).toBe(1)
  }
})
