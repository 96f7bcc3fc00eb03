import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { FORMAT_VERSION } from '../../src/backup/format.ts'
import { restoreBackup } from '../../src/backup/restore-backup.ts'
import { writeBackup } from '../../src/backup/write-backup.ts'
import { openStore } from '../../src/context/store.ts'
import { createRootKeyText } from '../../src/crypto/root-key.ts'
import { rotateRoot } from '../../src/registry/rotate.ts'
import type { Settings } from '../process/tabbat.ts'
import { dump, fillEmptyTables } from '../registry/full-database.ts'
import { run, tabbat } from '../registry/run.ts'
import {
  countReadable,
  ENGINES,
  keysOf,
  newSettings,
  toBatch,
  toConfig,
  toReader,
  withSealed,
} from '../registry/sealed-registry.ts'
import { rewriteBackup, toBackupKeyOf } from './backup-lines.ts'

const RECORDS = 450
let source: Settings
let bytes: Buffer

beforeAll(async () => {
  source = await newSettings('sqlite')
  const file = join(source.TABBAT_DATA_DIR ?? '', 'source.backup')
  await withSealed(source, async (sealed) => {
    await sealed.store.registry.save(toBatch(sealed.keyring, 0, RECORDS, 3))
    await writeBackup(sealed, file)
  })
  bytes = readFileSync(file)
})

const keyFileOf = (settings: Settings) => join(settings.TABBAT_DATA_DIR ?? '', 'root.key')

async function newTarget(engine: (typeof ENGINES)[number]): Promise<Settings> {
  const settings = await newSettings(engine)
  writeFileSync(keyFileOf(settings), readFileSync(keyFileOf(source)), { mode: 0o600 })
  return settings
}

async function restore(settings: Settings, contents: Uint8Array, force = false) {
  const file = join(settings.TABBAT_DATA_DIR ?? '', 'given.backup')
  writeFileSync(file, contents)
  const { dataDir, databaseUrl } = toConfig(settings)
  const store = await openStore({ dataDir, databaseUrl })
  const before = await dump(store)
  try {
    return await restoreBackup(toConfig(settings), store, file, { force })
  } catch (error) {
    expect(await dump(store)).toEqual(before)
    throw error
  } finally {
    await store.close()
  }
}

/** The backup with changed lines and a right MAC. */
const rewrite = (change: (lines: string[]) => string[], changeCounts?: (counts: object) => object): Buffer =>
  rewriteBackup(bytes, toBackupKeyOf(keysOf(source)[0] ?? ''), change, changeCounts)

const withHeader = (header: object) =>
  rewrite(([first = '', ...others]) => [JSON.stringify({ ...JSON.parse(first), ...header }), ...others])

describe('a damaged file is refused, and nothing is changed', () => {
  const flipped = (at: number) => {
    const copy = Buffer.from(bytes)
    const place = Math.floor(at * (bytes.length - 1))
    copy[place] = (copy[place] ?? 0) ^ 1
    return copy
  }
  const plain = () => gunzipSync(bytes).toString()
  const CASES: [string, () => Uint8Array][] = [
    ['empty', () => Buffer.alloc(0)],
    ['something else', () => Buffer.from('{"format":"tabbat-backup"}\n')],
    ['something else, gzipped', () => gzipSync('{"hello":true}\n')],
    ['not objects', () => gzipSync('1\n2\n')],
    ['cut off at the end', () => bytes.subarray(0, -1)],
    ['cut off in the middle', () => bytes.subarray(0, bytes.length / 2)],
    ['cut off between two lines', () => gzipSync(plain().split('\n').slice(0, -2).join('\n'))],
    ['cut off inside the last line', () => gzipSync(plain().slice(0, -2))],
    ['with a line after the end', () => gzipSync(`${plain()}["more"]\n`)],
    ['changed in a digit', () => gzipSync(plain().replace('"root_fingerprint","', '"root_fingerprint","0'))],
    ['without a row', () => rewrite((lines) => lines.toSpliced(-2, 1))],
    ['with a row that is too short', () => rewrite((lines) => [...lines, '["x"]'])],
    ['with an unknown table', () => rewrite((lines) => [...lines, '{"table":"x","columns":["a"]}'])],
    ['with SQL', () => rewrite((lines) => [...lines, '{"table":"meta","columns":["a) --"]}'])],
    ['with a row before any table', () => rewrite(([first = '', ...others]) => [first, '["x"]', ...others])],
    ...[0.02, 0.3, 0.6, 0.9, 1].map((at): [string, () => Uint8Array] => [
      `changed in one bit at ${at}`,
      () => flipped(at),
    ]),
  ]
  let target: Settings
  beforeAll(async () => {
    target = await newTarget('sqlite')
  })
  it.each(CASES)('%s', async (_name, make) => {
    await expect(restore(target, make())).rejects.toThrow(/(is|or is) damaged.*Take another one/)
  })

  it('missing', async () => {
    const settings = await newTarget('sqlite')
    const { code, stderr } = await tabbat(settings, ['restore', '/nowhere/x.backup'])
    expect([code, stderr.endsWith('\nerror: There is no file /nowhere/x.backup.\n')]).toEqual([1, true])
  })
})

describe('a backup is refused', () => {
  it('when it was made by a newer Tabbat', async () => {
    for (const header of [{ schema: 999 }, { version: FORMAT_VERSION + 1 }, { schema: 'x' }])
      await expect(restore(await newTarget('sqlite'), withHeader(header))).rejects.toThrow(
        /made by a newer Tabbat/,
      )
  })

  it('when it was made by a Tabbat before 0.3.0', async () => {
    for (const version of [1, 2])
      await expect(restore(await newTarget('sqlite'), withHeader({ version }))).rejects.toThrow(
        /made by a Tabbat before 0\.3\.0/,
      )
  })

  it('when it was replaced by another good one between the two passes', async () => {
    const settings = await newTarget('sqlite')
    const file = join(settings.TABBAT_DATA_DIR ?? '', 'given.backup')
    writeFileSync(file, bytes)
    const { dataDir, databaseUrl } = toConfig(settings)
    const store = await openStore({ dataDir, databaseUrl })
    onTestFinished(() => store.close())
    const replaced = rewrite(
      (lines) => lines.slice(0, -1),
      (counts) => ({ ...counts, media: 2 }),
    )
    const onProgress = (done: number, total: number) => {
      if (done === total / 2) writeFileSync(file, replaced)
    }
    await expect(restoreBackup(toConfig(settings), store, file, { onProgress })).rejects.toThrow(
      /was replaced|damaged/,
    )
    expect(await store.registry.count()).toEqual([])
  })

  it('with another root key, but not when the file also has the right one', async () => {
    const settings = await newTarget('sqlite')
    const [own, other] = [readFileSync(keyFileOf(settings), 'utf8'), createRootKeyText()]
    writeFileSync(keyFileOf(settings), other)
    await expect(restore(settings, bytes)).rejects.toThrow(/root key.*is not the one of this backup/)
    writeFileSync(keyFileOf(settings), `${other}\n${own}`)
    await restore(settings, bytes)
    await withSealed(settings, async (sealed) => {
      await rotateRoot(toConfig(settings), sealed)
      expect((await countReadable(toReader(settings, sealed), RECORDS)).records).toBe(RECORDS)
    })
    expect(readFileSync(keyFileOf(settings), 'utf8').trim()).toBe(other)
  })

  it('without a root key, and none is created', async () => {
    const settings = await newTarget('sqlite')
    rmSync(keyFileOf(settings))
    await expect(restore(settings, bytes)).rejects.toThrow(/root key is missing/)
    expect(existsSync(keyFileOf(settings))).toBe(false)
  })
})

describe.concurrent.each(ENGINES)('a database on %s that is not empty', (engine) => {
  it('is not changed without --force', async () => {
    const settings = await newTarget(engine)
    await withSealed(settings, ({ store, keyring }) => store.registry.save(toBatch(keyring, 9000, 5, 5)))
    await expect(restore(settings, bytes)).rejects.toThrow(/is not empty.*--force/)
    await expect(restore(settings, bytes.subarray(0, -1), true)).rejects.toThrow(/damaged/)
    await restore(settings, bytes, true)
    await withSealed(settings, async (sealed) => {
      expect(await sealed.store.registry.count()).toEqual([{ kind: 'nin', keyVersion: 1, records: RECORDS }])
      expect(await countReadable(toReader(settings, sealed), RECORDS)).toEqual({
        records: RECORDS,
        pictures: 3,
      })
    })
  })

  it('keeps its audit log, even with --force', async () => {
    const settings = await newTarget(engine)
    await withSealed(settings, ({ store }) => fillEmptyTables(store))
    await expect(restore(settings, bytes, true)).rejects.toThrow(/audit log, which is never deleted/)
  })
})

describe.concurrent.each(ENGINES)('the row of a restore into %s', (engine) => {
  async function newRestore() {
    const settings = await newTarget(engine)
    const inFolder = (name: string) => join(settings.TABBAT_DATA_DIR ?? '', name)
    writeFileSync(inFolder('given.backup'), bytes)
    const phases = () =>
      withSealed(settings, async ({ store }) =>
        (await store.database.prepare('SELECT phase, detail FROM audit').all()).map(
          ({ phase, detail }) => `${phase} ${detail}`,
        ),
      )
    return { inFolder, phases, restoreIt: () => tabbat(settings, ['restore', inFolder('given.backup')]) }
  }
  const ONE_ROW = [expect.stringMatching(/^restored backup of 2.*; by .* \(cli\)$/)]

  it('is written with the data: if that fails, nothing is restored', async () => {
    const { inFolder, phases, restoreIt } = await newRestore()
    mkdirSync(inFolder('node.id'))
    expect((await restoreIt()).code).toBe(1)
    rmSync(inFolder('node.id'), { recursive: true })
    expect((await restoreIt()).code).toBe(0)
    expect(await phases()).toEqual(ONE_ROW)
  })

  it('is there if only the checkpoint after it fails, and the command says so', async () => {
    const { inFolder, phases, restoreIt } = await newRestore()
    mkdirSync(inFolder('checkpoints.log'))
    const { code, stdout, stderr } = await restoreIt()
    expect([code, stdout]).toEqual([2, expect.stringContaining('is restored to')])
    expect(stderr).toContain('the data is restored and recorded, but no checkpoint could be made')
    expect(await phases()).toEqual(ONE_ROW)
  })
})

describe('an older backup', () => {
  it('gets default values for new columns', async () => {
    const withoutHide = rewrite(
      (lines) => [
        ...lines,
        '{"table":"api_keys","columns":["id","mode","name","hash","scopes","created_at"]}',
        '["abcdefgh","live","x",{"base64":"AAAA"},"kyc:nin",1]',
      ],
      (counts) => ({ ...counts, api_keys: 1 }),
    )
    const settings = await newTarget('sqlite')
    await restore(settings, withoutHide)
    await withSealed(settings, async ({ store }) =>
      expect(await store.keys.find('abcdefgh')).toMatchObject({
        mode: 'live',
        hide: [],
        rolledTo: undefined,
      }),
    )
  })
})

describe.concurrent.each(ENGINES)('a restore into %s that is killed half-way', (engine) => {
  it('does not change the database', async () => {
    const settings = await newTarget(engine)
    const file = join(settings.TABBAT_DATA_DIR ?? '', 'given.backup')
    writeFileSync(file, bytes)
    const before = await withSealed(settings, async ({ store, keyring }) => {
      await store.registry.save(toBatch(keyring, 9000, 5))
      return dump(store)
    })
    const { signal } = await run(settings, ['test/backup/restore-and-die.ts', file])
    expect(signal).toBe('SIGKILL')
    await withSealed(settings, async ({ store }) => expect(await dump(store)).toEqual(before))
    await restore(settings, bytes, true)
  })
})
