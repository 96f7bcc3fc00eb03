import { appendFileSync, existsSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { loadConfig } from '../../../src/context/config.ts'
import { openSealedStore, type SealedStore } from '../../../src/context/sealed-store.ts'
import { importFile, type Progress } from '../../../src/registry/import/import-file.ts'
import { openInput } from '../../../src/registry/import/input.ts'
import { type Format, MAX_ROW_BYTES, toFormat } from '../../../src/registry/import/rows.ts'
import type { RegistryTable } from '../../../src/registry/registry-table.ts'
import { toSubject, unsealEntry, unsealMedia } from '../../../src/registry/sealed-entry.ts'

let folder: string
let sealed: SealedStore

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tabbat-continue-'))
  sealed = await openSealedStore(loadConfig({ TABBAT_DATA_DIR: join(folder, 'data') }, ''))
})
afterEach(() => sealed.store.close())

type Reported = { continuedAt: number | undefined; rejects: string[] }

/** Imports as the command does, with a table that may fail. */
async function run(
  name: string,
  { strict = false, table = sealed.store.registry, format = toFormat(name) as Format } = {},
): Promise<Progress & Reported> {
  const path = join(folder, name)
  const reported: Reported = { continuedAt: undefined, rejects: [] }
  const input = await openInput(path)
  const options = { kind: 'nin', format, strict, rejectedPath: `${path}.rejected` } as const
  try {
    const progress = await importFile({ table, keyring: sealed.keyring }, input, options, {
      onContinue: ({ line }) => {
        reported.continuedAt = line
      },
      onProgress: () => {},
      onReject: ({ line, reason }) => reported.rejects.push(`${line}: ${reason}`),
    })
    return { ...progress, ...reported }
  } finally {
    await input.close()
  }
}

/** The process ends before this batch is saved. */
function failAt(batch: number): RegistryTable {
  let saved = 0
  return {
    ...sealed.store.registry,
    save: async (rows) => {
      if (++saved === batch) throw new Error('killed')
      return sealed.store.registry.save(rows)
    },
  }
}

const row = (number: number, more: object = {}) =>
  JSON.stringify({ nin_number: String(number), personal_info: { phone_number: '08031234567' }, ...more })

async function findRecord(number: number) {
  const subject = toSubject(sealed.keyring, 'nin', String(number))
  const found = await sealed.store.registry.find(subject)
  return found && unsealEntry(sealed.keyring, 'nin', subject, found)
}

const rejectedLines = (name: string) =>
  readFileSync(join(folder, `${name}.rejected`), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).line as number)

const count = async () => (await sealed.store.registry.count()).reduce((sum, { records }) => sum + records, 0)

describe('an import that was interrupted', () => {
  const TOTAL = 12_000
  const BAD_EVERY = 1000
  const toRow = (index: number) => (index % BAD_EVERY === 0 ? 'bad' : row(70_000_000_000 + index))
  const rows = Array.from({ length: TOTAL }, (_each, index) => toRow(index + 1))
  const badLines = Array.from({ length: TOTAL / BAD_EVERY }, (_each, index) => (index + 1) * BAD_EVERY)

  it('continues after the last batch, with each rejected row once', async () => {
    writeFileSync(join(folder, 'people.ndjson'), rows.join('\n'))
    await expect(run('people.ndjson', { table: failAt(2) })).rejects.toThrow('killed')
    const saved = await count()
    expect(saved).toBeGreaterThan(2000)
    // Written after the last batch, and incomplete.
    appendFileSync(join(folder, 'people.ndjson.rejected'), '{"line":1')

    const done = await run('people.ndjson')
    expect(done.continuedAt).toBeGreaterThan(saved)
    expect(done).toMatchObject({
      records: TOTAL,
      changed: TOTAL - badLines.length,
      rejected: badLines.length,
    })
    expect(await count()).toBe(TOTAL - badLines.length)
    expect(rejectedLines('people.ndjson')).toEqual(badLines)

    const again = await run('people.ndjson')
    expect(again).toMatchObject({ continuedAt: undefined, records: TOTAL, changed: 0 })
    expect(rejectedLines('people.ndjson')).toEqual(badLines)
  })

  it('starts from the beginning when the file has changed', async () => {
    writeFileSync(join(folder, 'people.ndjson'), rows.join('\n'))
    await expect(run('people.ndjson', { table: failAt(2) })).rejects.toThrow('killed')
    appendFileSync(join(folder, 'people.ndjson'), `\n${row(80_000_000_000)}`)
    const done = await run('people.ndjson')
    expect([done.continuedAt, done.records]).toEqual([undefined, TOTAL + 1])
    expect(done.changed).toBeLessThan(TOTAL - badLines.length)
  })
})

describe('a strict import', () => {
  it('saves the rows before the invalid one, and reports its line', async () => {
    writeFileSync(
      join(folder, 'people.ndjson'),
      [row(70_000_000_001), '', 'bad', row(70_000_000_002)].join('\n'),
    )
    await expect(run('people.ndjson', { strict: true })).rejects.toThrow(
      'line 3: the row is not JSON. The rows before it were saved.',
    )
    expect(await count()).toBe(1)
    expect(existsSync(join(folder, 'people.ndjson.rejected'))).toBe(false)
    expect((await run('people.ndjson')).continuedAt).toBeUndefined()
  })
})

describe('rows are rejected one by one', () => {
  it('when they are not UTF-8 or longer than 4 MiB', async () => {
    const parts = [
      Buffer.from('\uFEFF'),
      Buffer.from(`${row(70_000_000_001)}\r\n`),
      Buffer.from([0x22, 0xff, 0x22, 0x0a]),
      Buffer.alloc(2 * MAX_ROW_BYTES, 0x78),
      Buffer.from(`\n${row(70_000_000_002)}\n\n"${'x'.repeat(MAX_ROW_BYTES)}"\n${row(70_000_000_003)}`),
    ]
    writeFileSync(join(folder, 'people.ndjson'), Buffer.concat(parts))
    const done = await run('people.ndjson')
    expect(done.rejects).toEqual([
      '2: the row is not UTF-8',
      '3: the row is longer than 4 MiB',
      '6: the row is longer than 4 MiB',
    ])
    expect(done).toMatchObject({ records: 6, changed: 3, rejected: 3 })
  })

  it('with the line where they start, also in CSV with line breaks in quotes', async () => {
    const header = 'nin_number,personal_info.phone_number,residential_info.address'
    const lines = [
      header,
      '70000000001,08031234567,"1, Broad Street\nLagos"',
      '1,2',
      '70000000002,08031234567,"x',
    ]
    writeFileSync(join(folder, 'people.csv'), lines.join('\r\n'))
    const done = await run('people.csv')
    expect(done.rejects).toEqual(['4: the row has 2 cells, the header has 3', '5: a quote is not closed'])
    expect((await findRecord(70_000_000_001))?.record.residential_info.address).toBe('1, Broad Street Lagos')
  })

  it('into a new file, even when a link has its name', async () => {
    writeFileSync(join(folder, 'theirs'), 'theirs')
    symlinkSync(join(folder, 'theirs'), join(folder, 'people.ndjson.rejected'))
    writeFileSync(join(folder, 'people.ndjson'), 'bad\n')
    await run('people.ndjson')
    expect(readFileSync(join(folder, 'theirs'), 'utf8')).toBe('theirs')
    expect(rejectedLines('people.ndjson')).toEqual([1])
    writeFileSync(join(folder, 'people.ndjson'), `${row(70_000_000_001)}\n`)
    await run('people.ndjson')
    expect(existsSync(join(folder, 'people.ndjson.rejected'))).toBe(false)
  })
})

describe('the file of rejected rows', () => {
  it('takes the place of none but that of an earlier import', async () => {
    const path = join(folder, 'people.ndjson.rejected')
    writeFileSync(join(folder, 'people.ndjson'), `${row(70_000_000_001)}\n`)
    writeFileSync(path, 'the only copy of something else\n')
    await expect(run('people.ndjson')).rejects.toThrow('no import has written it')
    expect(readFileSync(path, 'utf8')).toBe('the only copy of something else\n')
    writeFileSync(path, '')
    await run('people.ndjson')
    expect(existsSync(path)).toBe(false)
  })
})

describe('the last of several rows of one person', () => {
  const picture = (filler: number) =>
    Buffer.concat([Buffer.from('ffd8ff', 'hex'), Buffer.alloc(64, filler)]).toString('base64')

  const readPicture = async () => {
    const entry = await findRecord(70_000_000_001)
    if (!entry?.mediaId) return undefined
    const id = Buffer.from(entry.mediaId, 'hex')
    const media = await sealed.store.registry.findMedia(id)
    return media && unsealMedia(sealed.keyring, id, media).toString('base64')
  }

  it.each([
    ['counts, with its picture', [{ picture: picture(1) }, { picture: picture(2) }], picture(2), 1],
    ['counts, without a picture', [{ picture: picture(1) }, {}], undefined, 0],
    ['counts, with the only picture', [{}, { picture: picture(1) }], picture(1), 1],
  ])('%s', async (_what, rows, expected, pictures) => {
    const text = rows.map((more) => row(70_000_000_001, more)).join('\n')
    writeFileSync(join(folder, 'people.ndjson'), text)
    for (const changed of [1, 0]) {
      expect(await run('people.ndjson')).toMatchObject({ records: 2, changed })
      expect(await readPicture()).toBe(expected)
      expect(await sealed.store.registry.countMedia()).toBe(pictures)
    }
  })

  it('removes the picture when a later import has none', async () => {
    writeFileSync(join(folder, 'a.ndjson'), row(70_000_000_001, { picture: picture(1) }))
    await run('a.ndjson')
    writeFileSync(join(folder, 'b.ndjson'), row(70_000_000_001))
    await run('b.ndjson')
    expect([await readPicture(), await sealed.store.registry.countMedia()]).toEqual([undefined, 0])
  })
})
