import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { beforeEach, describe, expect, it } from 'vitest'
import { loadConfig } from '../../../src/context/config.ts'
import { openSealedStore } from '../../../src/context/sealed-store.ts'
import { createRegistry, type Registry } from '../../../src/registry/registry.ts'
import { createTestDatabase, hasPostgres } from '../../postgres.ts'
import { TABBAT } from '../../process/tabbat.ts'

const PNG = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(40, 1)])
const ENGINES = hasPostgres() ? (['sqlite', 'postgres'] as const) : (['sqlite'] as const)

let folder: string
let settings: Record<string, string>

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tabbat-import-'))
  settings = { TABBAT_DATA_DIR: join(folder, 'data') }
})

function start(args: readonly string[], shell = 'exec "$@"') {
  const env = { PATH: process.env.PATH ?? '', ...settings }
  return spawn('bash', ['--norc', '-c', shell, 'bash', resolve(TABBAT.file), 'import', ...args], {
    env,
    cwd: folder,
  })
}

async function run(args: readonly string[], input = '', shell?: string) {
  const child = start(args, shell)
  child.stdin.end(input)
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ])
  return { code: code as number, stdout, stderr }
}

function file(name: string, content: string): string {
  writeFileSync(join(folder, name), content)
  return name
}

async function withRegistry<T>(
  work: (registry: Registry, count: () => Promise<number>) => Promise<T>,
): Promise<T> {
  const { store, keyring } = await openSealedStore(loadConfig(settings, ''))
  const count = async () => (await store.registry.count()).reduce((sum, row) => sum + row.records, 0)
  const registry = createRegistry({
    table: store.registry,
    keyring: () => keyring,
    reloadKeyring: async () => keyring,
  })
  try {
    return await work(registry, count)
  } finally {
    await store.close()
  }
}

const person = (number: string, info: object = {}) =>
  JSON.stringify({ nin_number: number, personal_info: { phone_number: '08030000001', ...info } })

describe.each(ENGINES)('an import into %s', (engine) => {
  beforeEach(async () => {
    if (engine === 'postgres') settings.TABBAT_DATABASE_URL = await createTestDatabase()
  })

  it('reads NDJSON in the shape of the contract, and the same file again changes nothing', async () => {
    const info = { first_name: ' Ada ', last_name: 'Obi', date_of_birth: '5 January 1990', height: 180 }
    const name = file(
      'people.ndjson',
      `${person('70000000001', { ...info, phone_number: '+234 803 000 0001' })}\n`,
    )
    const first = await run(['nin', name, '--json'])
    expect([first.code, JSON.parse(first.stdout)]).toMatchObject([0, { records: 1, changed: 1, rejected: 0 }])
    const again = await run(['nin', name, '--json'])
    expect(JSON.parse(again.stdout)).toMatchObject({ records: 1, changed: 0, unchanged: 1 })
    const entry = await withRegistry((registry) => registry.find('nin', '70000000001'))
    expect(entry?.record.personal_info).toMatchObject({
      first_name: 'Ada',
      full_name: 'Ada Obi',
      phone_number: '08030000001',
      date_of_birth: '05-01-1990',
      formatted_date_of_birth: 'Jan 5, 1990',
      height: '180',
      religion: '',
    })
  })

  it('reads CSV with dotted names, quotes and a byte order mark', async () => {
    const header =
      'bvn_number,personal_info.first_name,personal_info.phone_number,personal_info.phone_number_2,personal_info.date_of_birth,formatted_registration_date'
    const rows = [
      '71000000001,"O""Neil, Jr",08030000001,,05-JAN-90,21-Mar-2018',
      '71000000002,Ada,08030000002,0901 234 5678,,',
    ]
    const name = file('people.csv', `\uFEFF${[header, ...rows].join('\r\n')}\r\n`)
    expect((await run(['bvn', name])).code).toBe(0)
    await withRegistry(async (registry) => {
      const one = (await registry.find('bvn', '71000000001'))?.record
      expect(one?.personal_info).toMatchObject({
        first_name: 'O"Neil, Jr',
        phone_number_2: null,
        date_of_birth: '05-Jan-1990',
      })
      expect(one?.formatted_registration_date).toBe('March 21, 2018')
      const two = (await registry.find('bvn', '71000000002'))?.record
      expect([two?.personal_info.phone_number_2, two?.formatted_registration_date]).toEqual([
        '09012345678',
        null,
      ])
    })
  })
})

describe('rejected rows', () => {
  const rows = [
    person('70000000001'),
    '{"nin_number":70000000002}',
    'not json Zzyzxcanary',
    person('70000000003', { date_of_birth: '31-02-1990' }),
    person('70000000004', { shoe_size: 'Zzyzxcanary' }),
    '{"nin_number":"70000000005"}',
    person('7000000000', {}),
    person('70000000007', { phone_number: '12345' }),
    person('70000000008', { first_name: 'x'.repeat(501) }),
  ]

  it('are written to a separate file with line and reason, and no personal data is shown', async () => {
    const name = file('people.ndjson', rows.join('\n'))
    const { code, stdout, stderr } = await run(['nin', name])
    expect(code).toBe(2)
    expect(stdout).toContain('1 new or changed')
    expect(stdout).toContain('8 rejected')
    for (const canary of ['Zzyzxcanary', '70000000', '12345', 'xxxx'])
      expect(stdout + stderr).not.toContain(canary)
    const rejects = readFileSync(join(folder, 'people.ndjson.rejected'), 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(rejects.map(({ line }) => line)).toEqual([2, 3, 4, 5, 6, 7, 8, 9])
    expect(rejects[3]).toEqual({
      line: 5,
      reason: 'personal_info.shoe_size is not a known field',
      row: rows[4],
    })
    expect(statSync(join(folder, 'people.ndjson.rejected')).mode & 0o777).toBe(0o600)
    expect(await withRegistry((_registry, count) => count())).toBe(1)
  })

  it('stop the import when the disk does not take all of them, and none is lost', async () => {
    const [header, count] = ['nin_number,personal_info.phone_number\n', 60_000]
    const name = file('people.csv', header + '1\n'.repeat(count))
    // The limit cuts a write short, as a full disk does. Less than one chunk of rejected rows, more than the empty database.
    const limited = await run(['nin', name], '', 'ulimit -f 4096; exec "$@"')
    expect([limited.code, limited.stderr]).toEqual([
      1,
      expect.stringContaining('people.csv.rejected cannot be written (EFBIG)'),
    ])
    expect((await run(['nin', name])).code).toBe(2)
    const rejects = readFileSync(join(folder, 'people.csv.rejected'), 'utf8').trimEnd().split('\n')
    expect([rejects.length, JSON.parse(rejects.at(-1) ?? '')]).toMatchObject([count, { line: count + 1 }])
  })

  it('stop a strict import at the first of them', async () => {
    const { code, stderr } = await run(['nin', file('people.ndjson', rows.join('\n')), '--strict'])
    expect([code, stderr]).toEqual([1, expect.stringContaining('line 2: nin_number must be a string')])
  })
})

describe('input that cannot be imported is refused with a message', () => {
  it.each([
    ['a missing file', ['nin', 'missing.ndjson'], /There is no file/],
    ['a folder', ['nin', '.'], /is a folder/],
    ['a file without a row', ['nin', 'empty.ndjson'], /is empty/],
    ['a table without the number', ['nin', 'other.csv'], /header/],
    ['another kind', ['passport', 'other.csv'], /Allowed choices are nin, bvn/],
  ])('%s', async (_what, args, sentence) => {
    file('empty.ndjson', '')
    file('other.csv', 'name,shoe\na,b\n')
    const { code, stderr } = await run(args)
    expect([code, stderr]).toEqual([1, expect.stringMatching(sentence)])
    expect(stderr.trim().split('\n').length).toBeLessThanOrEqual(3)
  })
})

it('reads standard input', async () => {
  const { code } = await run(['nin', '-'], `${person('70000000001')}\n${person('70000000002')}\n`)
  expect(code).toBe(0)
  expect(await withRegistry((_registry, count) => count())).toBe(2)
})

it('stores a picture separately, keeps it when it is unchanged, and replaces it when it changed', async () => {
  const row = (picture: Buffer) =>
    `${JSON.stringify({ ...JSON.parse(person('70000000001')), picture: picture.toString('base64') })}\n`
  await run(['nin', file('a.ndjson', row(PNG))])
  const read = () =>
    withRegistry(async (registry) => {
      const { mediaId = null } = (await registry.find('nin', '70000000001')) ?? {}
      return {
        mediaId,
        picture:
          mediaId === null ? undefined : (await registry.findPicture(Buffer.from(mediaId, 'hex')))?.bytes,
      }
    })
  const first = await read()
  expect(first.picture?.equals(PNG)).toBe(true)
  await run(['nin', file('b.ndjson', row(PNG))])
  expect((await read()).mediaId).toBe(first.mediaId)
  const other = Buffer.concat([PNG, Buffer.alloc(8)])
  await run(['nin', file('c.ndjson', row(other))])
  expect((await read()).picture?.equals(other)).toBe(true)
  const bad = await run(['nin', file('d.ndjson', row(Buffer.from('GIF89a')))])
  expect(bad.code).toBe(2)
})

it('continues after a kill -9', async () => {
  const total = 60_000
  const rows = Array.from({ length: total }, (_each, index) =>
    person(String(70_000_000_000 + index), { first_name: 'Ada' }),
  )
  const name = file('many.ndjson', `${rows.join('\n')}\n`)
  const child = start(['nin', name])
  const closed = once(child, 'close')
  const hasProgress = async (): Promise<boolean> => {
    if (!existsSync(join(folder, 'data/tabbat.db'))) return false
    const { store } = await openSealedStore(loadConfig(settings, '')).catch(() => ({ store: undefined }))
    const row = await store?.database.prepare('SELECT 1 AS found FROM imports').get()
    await store?.close()
    return row !== undefined
  }
  while (child.exitCode === null && !(await hasProgress())) await new Promise((done) => setTimeout(done, 5))
  child.kill('SIGKILL')
  await closed
  const { code, stdout, stderr } = await run(['nin', name, '--json'])
  expect(code).toBe(0)
  expect(stderr).toMatch(/continuing at line [1-9]/)
  expect(JSON.parse(stdout)).toMatchObject({ records: total, changed: total, unchanged: 0, rejected: 0 })
  expect(await withRegistry((_registry, count) => count())).toBe(total)
})

describe('a CSV file that cannot be imported as it is', () => {
  const HEADER = 'nin_number,personal_info.phone_number'
  const ROW = '12345678901,08031234567'

  it.each([['people.txt'], ['-']])('under the name %s is recognised before a row is copied', async (name) => {
    const content = `${HEADER}\n${ROW}\n`
    const done = await run(['nin', name === '-' ? name : file(name, content)], content)
    expect([done.code, done.stderr]).toEqual([
      1,
      expect.stringContaining('looks like CSV. Give --format csv.'),
    ])
    for (const each of ['people.txt.rejected', 'stdin.rejected'])
      expect(existsSync(join(folder, each))).toBe(false)
  })

  it.each([';', '\t'])('is separated by %j', async (mark) => {
    const content = [HEADER, ROW].join('\n').replaceAll(',', mark)
    const { code, stderr } = await run(['nin', file('people.csv', content)])
    expect([code, stderr]).toEqual([1, expect.stringContaining('must be separated by commas')])
  })

  it('names the unknown columns beside the missing ones, and no value', async () => {
    const shown = await run(['nin', file('people.csv', `nin_number,phone,hat\n${ROW},x\n`)])
    expect(shown.stderr).toContain('personal_info.phone_number in it. Unknown columns: phone, hat.')
    const hidden = await run(['nin', file('other.csv', `Ada,Obi,08031234567\n`)])
    expect(hidden.stderr).toContain('personal_info.phone_number in it.\n')
    const joined = await run(['nin', file('joined.csv', `nin_number,phone,12345678901,Ada\n`)])
    expect(joined.stderr).not.toContain('Ada')
  })
})
