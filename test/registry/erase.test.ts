import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { describe, expect, it } from 'vitest'
import type { AuditEntry } from '../../src/audit/row.ts'
import { withSnapshot } from '../../src/backup/snapshot.ts'
import { confirm, readSecret } from '../../src/cli/prompt.ts'
import type { SealedStore } from '../../src/context/sealed-store.ts'
import { erasePerson } from '../../src/people/erase-person.ts'
import { rotateRoot } from '../../src/registry/rotate.ts'
import { createReuse } from '../../src/verification/reuse.ts'
import { commitParts } from '../ledger/commit-parts.ts'
import { tabbat } from './run.ts'
import {
  countReadable,
  ENGINES,
  newSettings,
  subjectOf,
  toBatch,
  toConfig,
  toNumber,
  toReader,
  withSealed,
} from './sealed-registry.ts'

describe.each(ENGINES)('an erasure on %s', (engine) => {
  it('deletes the record and the picture of one person, once, and of no other', async () => {
    const settings = await newSettings(engine)
    await withSealed(settings, async (sealed) => {
      const { store, keyring } = sealed
      await store.registry.save(toBatch(keyring, 0, 3, 2))
      const entries: AuditEntry[] = []
      const deps = {
        ...sealed,
        config: toConfig(settings),
        audit: { record: async (rows: readonly AuditEntry[]) => void entries.push(...rows) },
      }
      const nothing = { records: 0, pictures: 0, keptAnswers: 0, reusedResults: 0, queued: 0, batchLabels: 0 }
      expect(await erasePerson(deps, 'bvn', toNumber(0))).toEqual(nothing)
      expect(await erasePerson(deps, 'nin', toNumber(0))).toEqual({ ...nothing, records: 1, pictures: 1 })
      expect(await erasePerson(deps, 'nin', toNumber(0))).toEqual(nothing)
      expect(entries.map(({ phase, outcome }) => `${phase} ${outcome}`)).toEqual([
        'record_erased not_found',
        'record_erased erased',
        'record_erased not_found',
      ])
      expect(JSON.stringify(entries)).not.toContain(toNumber(0))
      const reader = toReader(settings, sealed)
      expect(await reader.find('nin', toNumber(0))).toBeUndefined()
      expect(await countReadable(reader, 3)).toEqual({ records: 2, pictures: 1 })
      expect(await store.registry.countMedia()).toBe(1)
    })
  })

  it('that fails has a second audit row that says so', async () => {
    const settings = await newSettings(engine)
    await withSealed(settings, async (sealed) => {
      const { store, keyring } = sealed
      await store.registry.save(toBatch(keyring, 0, 1))
      const entries: AuditEntry[] = []
      const erase = async () => {
        throw new Error('the database failed')
      }
      const deps = {
        ...sealed,
        store: { ...store, erasure: { ...store.erasure, erase } },
        config: toConfig(settings),
        audit: { record: async (rows: readonly AuditEntry[]) => void entries.push(...rows) },
      }
      await expect(erasePerson(deps, 'nin', toNumber(0))).rejects.toThrow('the database failed')
      expect(entries.map(({ phase, outcome, detail }) => `${phase} ${outcome} ${detail}`)).toEqual([
        'record_erased erased nin: 1 record',
        'record_erased failed nin: 1 record',
      ])
    })
  })
})

describe('a stored result of a vendor', () => {
  it('is erased with the record, or alone, and the audit log and the command report it', async () => {
    const settings = await newSettings('sqlite')
    const keepResult = ({ store, keyring }: SealedStore, number: string) => {
      const reuse = createReuse(store.reuse, keyring, 60_000)
      return commitParts(store, [{ kept: reuse.toKept('nin', number, { record: {}, source: 'dojah' }) }])
    }
    const entries: AuditEntry[] = []
    await withSealed(settings, async (sealed) => {
      await sealed.store.registry.save(toBatch(sealed.keyring, 0, 1))
      await keepResult(sealed, toNumber(0))
      await keepResult(sealed, toNumber(1))
      await keepResult(sealed, toNumber(2))
      const deps = {
        ...sealed,
        config: toConfig(settings),
        audit: { record: async (rows: readonly AuditEntry[]) => void entries.push(...rows) },
      }
      expect(await erasePerson(deps, 'nin', toNumber(0))).toMatchObject({ records: 1, reusedResults: 1 })
      expect(await erasePerson(deps, 'nin', toNumber(1))).toMatchObject({ records: 0, reusedResults: 1 })
    })
    expect(entries.map(({ outcome, detail }) => `${outcome} ${detail}`)).toEqual([
      'erased nin: 1 record, 1 reused result',
      'erased nin: 1 reused result',
    ])
    const { stdout } = await tabbat(settings, ['registry', 'erase', 'nin', '--yes'], toNumber(2))
    expect(stdout).toBe('Erased: 1 reused result.\n')
  })
})

type EraseDeps = SealedStore &
  Parameters<typeof erasePerson>[0] & { readonly other: SealedStore } & {
    readonly config: ReturnType<typeof toConfig>
  }

describe('SQLite', () => {
  it('keeps no bytes of an erased record, not even sealed', async () => {
    const settings = await newSettings('sqlite')
    const file = join(settings.TABBAT_DATA_DIR ?? '', 'tabbat.db')
    const sealed = await withSealed(settings, async (opened) => {
      await opened.store.registry.save(toBatch(opened.keyring, 0, 3))
      return opened.store.registry.find(subjectOf(opened, 0))
    })
    const needle = Buffer.from(sealed?.sealed ?? []).subarray(0, 40)
    expect(readFileSync(file).includes(needle)).toBe(true)
    await withSealed(settings, (opened) =>
      erasePerson(
        { ...opened, config: toConfig(settings), audit: { record: async () => {} } },
        'nin',
        toNumber(0),
      ),
    )
    expect(readFileSync(file).includes(needle)).toBe(false)
  })

  /** The database with its write-ahead log: `tabbat.db` and `tabbat.db-wal`. */
  const holds = ({ store }: SealedStore, bytes: Buffer) =>
    [store.file, `${store.file}-wal`].some((file) => readFileSync(file).includes(bytes))
  const withRecord = async (work: (deps: EraseDeps, needle: Buffer) => Promise<void>) => {
    const settings = await newSettings('sqlite')
    await withSealed(settings, async (other) => {
      await withSealed(settings, async (opened) => {
        await opened.store.registry.save(toBatch(opened.keyring, 0, 3))
        const found = await opened.store.registry.find(subjectOf(opened, 0))
        const needle = Buffer.from(found?.sealed ?? []).subarray(0, 40)
        expect(holds(opened, needle)).toBe(true)
        await work(
          { ...opened, other, config: toConfig(settings), audit: { record: async () => {} } },
          needle,
        )
      })
    })
  }

  it('keeps none in its write-ahead log either, while another process has the database open', async () => {
    await withRecord(async (deps, needle) => {
      expect((await erasePerson(deps, 'nin', toNumber(0))).walProblem).toBeUndefined()
      expect(holds(deps, needle)).toBe(false)
      // The other process does not take the shorter log for a lost one.
      await deps.other.store.registry.save(toBatch(deps.keyring, 3, 1))
    })
  })

  it('says that the log still has them while a backup reads the database, and empties it the next time', async () => {
    await withRecord(async (deps, needle) => {
      await withSnapshot(deps.other.store, async () => {
        expect(await erasePerson(deps, 'nin', toNumber(0))).toMatchObject({
          records: 1,
          walProblem: { what: expect.stringContaining('tabbat.db-wal') },
        })
        expect(holds(deps, needle)).toBe(true)
      })
      expect((await erasePerson(deps, 'nin', toNumber(0))).walProblem).toBeUndefined()
      expect(holds(deps, needle)).toBe(false)
    })
  })

  it('keeps no record under the old root key after a rotation', async () => {
    await withRecord(async (deps, needle) => {
      expect(await rotateRoot(deps.config, deps)).toMatchObject({ outcome: 'rotated', isWalEmptied: true })
      expect(holds(deps, needle)).toBe(false)
    })
  })
})

describe('tabbat registry erase', () => {
  it('reads the number from standard input, reports the result, and never prints the number', async () => {
    const settings = await newSettings('sqlite')
    await withSealed(settings, ({ store, keyring }) => store.registry.save(toBatch(keyring, 0, 2)))
    const erase = (input: string, ...args: string[]) =>
      tabbat(settings, ['registry', 'erase', 'nin', '--yes', ...args], input)
    const first = await erase(`${toNumber(0)}\n`)
    expect(first).toMatchObject({ code: 0, stdout: 'Erased: 1 record.\n' })
    expect(first.stderr).toMatch(/^Database: SQLite \/.*\n$/)
    const again = await erase(toNumber(0), '--json')
    expect(again.code).toBe(0)
    expect(JSON.parse(again.stdout)).toMatchObject({
      erased: false,
      records: 0,
      pictures: 0,
      kept_answers: 0,
      reused_results: 0,
      queued_verifications: 0,
    })
    const inputs = ['', '1234567890', `${toNumber(1)}\n${toNumber(0)}`, '7000000000x']
    for (const { code, stdout, stderr } of await Promise.all(inputs.map((input) => erase(input)))) {
      expect([code, stdout]).toEqual([1, ''])
      expect(stderr).toMatch(/^error: A NIN has 11 digits/)
      expect(stderr).not.toMatch(/\d{5}/)
    }
    const wrong = await Promise.all([
      erase('7'.repeat(5000)),
      erase('', toNumber(1)),
      erase('', `--number=${toNumber(1)}`),
      tabbat(settings, ['registry', 'erase', toNumber(1)]),
    ])
    expect(wrong.map(({ code }) => code)).toEqual([1, 1, 1, 1])
    for (const { stdout, stderr } of wrong) expect(stdout + stderr).not.toMatch(/\d{5}/)
    await withSealed(settings, async (sealed) =>
      expect((await countReadable(toReader(settings, sealed), 2)).records).toBe(1),
    )
  })
})

describe('on a terminal', () => {
  function createTerminal() {
    const input = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => {} })
    const output = new PassThrough()
    return { input, output, shown: () => String(output.read() ?? '') }
  }

  it('typed text is not shown', async () => {
    const { input, output, shown } = createTerminal()
    const typed = readSecret('NIN (not shown): ', { input, output })
    input.write('700000000019')
    input.write('\u007f\r')
    expect(await typed).toBe('70000000001')
    expect(shown()).toBe('NIN (not shown): \n')
  })

  it.each([
    ['y\r', true],
    ['Yes\r', true],
    ['\r', false],
    ['n\r', false],
    ['yy\r', false],
  ])('%j confirms: %s', async (typed, expected) => {
    const { input, output } = createTerminal()
    const answer = confirm('Erase?', { input, output })
    input.write(typed)
    expect(await answer).toBe(expected)
  })

  it.each(['\u0003', '\u0004'])('%j cancels', async (typed) => {
    const { input, output } = createTerminal()
    const answer = readSecret('NIN: ', { input, output })
    input.write(typed)
    await expect(answer).rejects.toThrow('Cancelled. Nothing was changed.')
  })
})

describe('tabbat registry stats', () => {
  it('counts records, pictures and key versions, and prints the location', async () => {
    const settings = await newSettings('sqlite')
    await withSealed(settings, async (sealed) => {
      await sealed.store.registry.save(toBatch(sealed.keyring, 0, 3, 2))
      await rotateRoot(toConfig(settings), sealed)
    })
    const { stdout } = await tabbat(settings, ['registry', 'stats', '--json'])
    expect(JSON.parse(stdout)).toEqual({
      place: join(settings.TABBAT_DATA_DIR ?? '', 'tabbat.db'),
      records: { nin: 3, bvn: 0 },
      pictures: 2,
      root_version: 2,
      sealed_under: { 2: 3 },
      rotation_under_way: false,
      database: `SQLite ${join(settings.TABBAT_DATA_DIR ?? '', 'tabbat.db')}`,
    })
    const plain = await tabbat(settings, ['registry', 'stats'])
    expect(plain.stdout).toMatch(/NIN records +3\nBVN records +0\npictures +2/)
  })
})

describe.concurrent('help', () => {
  it.each([['registry stats'], ['registry erase'], ['backup'], ['restore'], ['keys rotate-root']])(
    'exists for %s',
    async (command) => {
      const { code, stdout } = await tabbat({}, [...command.split(' '), '--help'])
      expect([code, stdout.startsWith(`Usage: tabbat ${command}`)]).toEqual([0, true])
    },
  )
})
