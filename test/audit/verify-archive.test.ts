import { copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { ARCHIVE_COLUMNS, toFrame, toPlacesFrame } from '../../src/audit/archive/archive-format.ts'
import { type ArchiveDeps, archiveLog } from '../../src/audit/archive/archive-log.ts'
import {
  type ArchiveBlock,
  type ArchiveReader,
  openArchive,
  UnreadableArchive,
} from '../../src/audit/archive/read-archive.ts'
import { verifyArchive } from '../../src/audit/archive/verify-archive.ts'
import { publishFile } from '../../src/audit/archive/write-archive.ts'
import type { Checkpoint } from '../../src/audit/audit-table.ts'
import type { Store } from '../../src/context/store.ts'
import { newFolder, SQLITE } from '../engines.ts'
import { FIRST, JANUARY, openLog, publicKey, signer, writeOldLog } from './old-log.ts'

const MARCH = Date.UTC(2020, 2)
const OUTCOME = ARCHIVE_COLUMNS.indexOf('outcome')

async function openOldLog() {
  const place = await SQLITE.createPlace()
  const store = await place.open()
  const folder = newFolder()
  await writeOldLog(store, folder)
  const audit = await openLog(store, folder)
  const close = async () => {
    await audit.close()
    await store.close()
  }
  const archive = (name: string, before: number, more: Partial<ArchiveDeps> = {}) =>
    archiveLog(before, join(folder, name), { store, signer, audit, by: 'test', ...more })
  return { store, folder, archive, close }
}

const countRows = async (store: Store) =>
  Number(
    (await store.database.prepare("SELECT COUNT(*) AS rows FROM audit WHERE chain LIKE '%0001-1'").get())
      ?.rows,
  )

/**
 * The statement and the bytes of an archive are good, and what is in it is not: as if its writer had made a mistake, or the owner of the
 * key had signed another history.
 */
describe('a signed archive is not sound', () => {
  let path: string
  let close: () => Promise<void>
  beforeAll(async () => {
    const log = await openOldLog()
    await log.archive('all.audit.zst', MARCH)
    path = join(log.folder, 'all.audit.zst')
    close = log.close
  })
  afterAll(() => close())

  async function verifyWith(alter: (reader: ArchiveReader) => Partial<ArchiveReader>) {
    const file = await openArchive(path)
    onTestFinished(() => file.close())
    const readContent = async () => {
      const reader = await file.readContent()
      return { ...reader, ...alter(reader) }
    }
    return verifyArchive({ ...file, readContent }, { publicKey })
  }

  /** With other checkpoints. */
  const withCheckpoints = (change: (all: readonly Checkpoint[]) => readonly Checkpoint[]) =>
    verifyWith(({ readCheckpoints }) => ({
      readCheckpoints: async function* () {
        const pages = await Array.fromAsync(readCheckpoints())
        yield change(pages.flat())
      },
    }))

  /** With another block of the first chain of January. */
  const withBlock = (change: (block: ArchiveBlock) => ArchiveBlock) =>
    verifyWith(({ readBlock }) => ({
      readBlock: async (place) => {
        const block = await readBlock(place)
        return block.header.chain === JANUARY[0] ? change(block) : block
      },
    }))
  const withFirstRow = (change: (cells: unknown[]) => void) =>
    withBlock((block) => {
      const [first = [], ...rows] = block.rows
      const cells = [...first]
      change(cells)
      return { ...block, rows: [cells, ...rows] }
    })

  it('unless nothing in it was changed', async () => {
    expect(await verifyWith(() => ({}))).toMatchObject({ number: 1, rows: 120 })
    expect(await withBlock((block) => block)).toMatchObject({ number: 1, rows: 120 })
  })

  it('with a checkpoint that is not signed, or one too few', async () => {
    expect(
      await withCheckpoints(([first, ...others]) =>
        first ? [{ ...first, signature: others[0]?.signature ?? '' }, ...others] : [],
      ),
    ).toMatchObject({ chain: null, reason: expect.stringContaining(`a checkpoint in ${path} `) })
    expect(await withCheckpoints((all) => all.slice(1))).toMatchObject({
      chain: null,
      reason: expect.stringMatching(/ has \d+ checkpoints instead of \d+$/),
    })
  })

  it('with checkpoints that do not cover the last rows', async () => {
    expect(await withCheckpoints((all) => all.flatMap(() => all.slice(0, 1)))).toMatchObject({
      chain: FIRST,
      reason: `the checkpoints in ${path} do not end with the last row`,
    })
  })

  it('with a block that does not continue the one before', async () => {
    const expected = { chain: JANUARY[0], sequence: 1, reason: `${path} does not continue here` }
    for (const header of [{ first: 2 }, { chain: FIRST }, { previous_hash: 'ab'.repeat(32) }, { last: 31 }])
      expect(await withBlock((block) => ({ ...block, header: { ...block.header, ...header } }))).toEqual(
        expected,
      )
    expect(await withBlock((block) => ({ ...block, rows: block.rows.slice(1) }))).toEqual(expected)
  })

  it('without the last block of a chain', async () => {
    expect(
      await verifyWith(({ blocks }) => ({ blocks: blocks.filter(({ chain }) => chain !== JANUARY[0]) })),
    ).toEqual({
      ...{ chain: JANUARY[0], sequence: 0 },
      reason: `${path} has another end of the chain than its statement`,
    })
  })

  it('with a row that was changed', async () => {
    expect(
      await withFirstRow((cells) => {
        cells[OUTCOME] = 'changed'
      }),
    ).toMatchObject({
      chain: JANUARY[0],
      reason: expect.stringMatching(/^rows 1 to \d+ are not those that a checkpoint in /),
    })
    expect(
      await withFirstRow((cells) => {
        cells[OUTCOME] = 7
      }),
    ).toEqual({
      ...{ chain: JANUARY[0], sequence: 1 },
      reason: 'the row holds a value that its format does not allow',
    })
  })

  it('with another hash of a block than that of its rows', async () => {
    expect(
      await withBlock((block) => ({ ...block, header: { ...block.header, hash: 'ab'.repeat(32) } })),
    ).toEqual({ chain: JANUARY[0], sequence: 1, reason: 'a row up to row 30 was changed' })
  })

  it('without a field policy that its rows name, or with another', async () => {
    const reason = expect.stringMatching(/^the field policy \S+ in .* is missing or was changed$/)
    expect(await verifyWith(() => ({ readPolicies: async () => new Map() }))).toMatchObject({ reason })
    const readOther = ({ readPolicies }: ArchiveReader) => ({
      readPolicies: async () => new Map([...(await readPolicies())].map(([id]) => [id, 'nin_number'])),
    })
    expect(await verifyWith(readOther)).toMatchObject({ reason })
  })

  it('with a frame that cannot be read; another failure is thrown', async () => {
    const failWith = (error: Error) => () => ({
      readBlock: () => Promise.reject(error),
    })
    expect(await verifyWith(failWith(new UnreadableArchive(path)))).toEqual({
      ...{ chain: null, sequence: null },
      reason: `${path} is no complete audit archive: it is another file, or was cut off or damaged`,
    })
    await expect(verifyWith(failWith(new Error('out of memory')))).rejects.toThrow('out of memory')
  })
})

describe('an archive that is not as it was written', () => {
  it('when it is read again is deleted, and no row is removed from the database', async () => {
    const { store, folder, archive, close } = await openOldLog()
    onTestFinished(close)
    const draft = join(folder, 'all.audit.zst.part')
    const rows = await countRows(store)
    const damage = () => {
      const bytes = readFileSync(draft)
      bytes[100] = Number(bytes[100]) ^ 1
      writeFileSync(draft, bytes)
    }
    const onWritten = (work: () => void) => ({
      onStep: (step: string) => {
        if (step === 'written') work()
      },
    })
    await expect(archive('all.audit.zst', MARCH, onWritten(damage))).rejects.toThrow(
      'The archive does not pass its check',
    )
    expect([existsSync(draft), await countRows(store)]).toEqual([false, rows])
    await archive('january.audit.zst', Date.UTC(2020, 1))
    const left = await countRows(store)
    const replace = () => copyFileSync(join(folder, 'january.audit.zst'), draft)
    await expect(archive('all.audit.zst', MARCH, onWritten(replace))).rejects.toThrow(
      `${draft} is not the file that was written. No audit row was removed.`,
    )
    expect([existsSync(draft), await countRows(store)]).toEqual([false, left])
  })
})

describe('the file of an archive', () => {
  it('never replaces another, and says why it cannot be written', async () => {
    const folder = newFolder()
    const [draft, path] = [join(folder, 'a.part'), join(folder, 'a.audit.zst')]
    await expect(publishFile(draft, path)).rejects.toThrow(
      `${path} cannot be written: the folder does not exist. No audit row was removed.`,
    )
    writeFileSync(draft, 'new')
    writeFileSync(path, 'old')
    await expect(publishFile(draft, path)).rejects.toThrow(`${path} exists already.`)
    expect(readFileSync(path, 'utf8')).toBe('old')
  })

  it('is no archive with a statement that is none, or too long', async () => {
    const path = join(newFolder(), 'a.audit.zst')
    await expect(openArchive(path)).rejects.toThrow(`There is no archive at ${path}.`)
    for (const line of ['null', '7', '{']) {
      const frame = await toFrame([line])
      const statement = { at: 0, length: frame.length }
      writeFileSync(path, Buffer.concat([frame, toPlacesFrame(statement, statement)]))
      await expect(openArchive(path), line).rejects.toBeInstanceOf(UnreadableArchive)
    }
    const long = { at: 0, length: 16 * 1024 * 1024 + 1 }
    writeFileSync(path, toPlacesFrame(long, long))
    await expect(openArchive(path)).rejects.toBeInstanceOf(UnreadableArchive)
    await expect(openArchive(join(path, 'inside'))).rejects.toThrow(
      'cannot be read. Check the path and its permissions.',
    )
  })
})
