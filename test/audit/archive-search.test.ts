import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { archiveLog } from '../../src/audit/archive/archive-log.ts'
import { findArchives, openWholeLog, type WholeLog } from '../../src/audit/archive/whole-log.ts'
import type { AuditLog } from '../../src/audit/audit-log.ts'
import { checkProof } from '../../src/audit/check-proof.ts'
import { exportRows } from '../../src/audit/export.ts'
import { verifyExtract } from '../../src/audit/extract/verify-extract.ts'
import { writeExtract } from '../../src/audit/extract/write-extract.ts'
import { prove } from '../../src/audit/prove.ts'
import { searchAudit } from '../../src/audit/search.ts'
import { searchTimelines } from '../../src/audit/search-timelines.ts'
import type { Store } from '../../src/context/store.ts'
import { listConsents } from '../../src/people/recorded-requests.ts'
import { describeEngines, newFolder, POSTGRES, SQLITE } from '../engines.ts'
import { FIRST, JANUARY, type OldRow, openLog, publicKey, RELEASED, signer, writeOldLog } from './old-log.ts'

/** Everything that reads the log must return the same before and after its rows were archived. */
describeEngines([SQLITE, POSTGRES], (engine) => {
  let store: Store
  let folder: string
  let audit: AuditLog
  let rows: readonly OldRow[]
  let before: Awaited<ReturnType<typeof readAll>>
  let log: WholeLog<Store>

  const openWhole = async (paths: readonly string[]) => {
    const opened = await openWholeLog(store, paths, { publicKey })
    onTestFinished(opened.close)
    return opened
  }
  const inFolder = () => findArchives([folder])

  /** What the functions that read the log find, with the hashes. */
  const readAll = async ({ audit: table }: Store) => {
    const pages = async <T>(
      search: (from: Parameters<typeof searchAudit>[2]) => Promise<{
        found: readonly T[]
        next: Parameters<typeof searchAudit>[2]
      }>,
    ) => {
      const found: T[] = []
      let next: Parameters<typeof searchAudit>[2]
      do {
        const page = await search(next)
        found.push(...page.found)
        next = page.next
      } while (next)
      return found
    }
    const limits = { page: 7, looks: 30, indexed: 100 }
    const [one] = rows
    const filters = [
      {},
      { to: '2020-01-01T00:00:11.000Z' },
      { from: '2020-01-01T00:00:11.000Z', to: '2020-02-01T00:00:05.000Z' },
      { source: 'registry', key_ids: ['Ab12Cd34'] },
      { request_reference: one?.reference ?? '' },
      { subject: one?.subject ?? '' },
      { consent_reference: 'Adé ₦ “3”' },
    ]
    const isOld = ({ time }: { time: string }) => time < '2021'
    const found = []
    for (const filter of filters) {
      const some = await pages((from) => searchAudit(table, filter, from, limits))
      const timelines = await pages((from) => searchTimelines(table, filter, from, limits))
      found.push(
        some.filter(isOld),
        timelines.filter(({ main }) => isOld(main)),
      )
    }
    return found
  }

  const RANGES = [0, 1, 2, 10, 29, 30, 31].flatMap((from) =>
    [1, 2, 11, 30, 31, 40].map((to) => ({ from, before: to })),
  )

  /** What is read of single chains, up to their ends and behind them. */
  const readChains = async ({ audit: table }: Store) => {
    const found = []
    for (const chain of [FIRST, ...JANUARY])
      for (const range of RANGES) {
        const { from, before: to } = range
        const at = await table.timeFrom(chain, to)
        found.push(
          await table.timeFrom(chain, from),
          await table.lastUntil(chain, range, at?.time ?? '2019'),
          (await table.pageBack(chain, to, from)).map(({ sequence }) => sequence),
          (await table.page(chain, from, to)).map(({ sequence }) => sequence),
          (await table.hashes(chain, from, to)).length,
        )
      }
    return found
  }

  // All tests read this log, and leave it and its archives as they are.
  beforeAll(async () => {
    const place = await engine.createPlace()
    store = await place.open()
    folder = newFolder()
    rows = await writeOldLog(store, folder)
    audit = await openLog(store, folder)
    await audit.record([{ phase: 'outcome', request_reference: 'ver_now' }])
    before = await readAll(store)
    const archive = (to: number, name: string) =>
      archiveLog(to, join(folder, name), { store, signer, audit, by: 'test' })
    await archive(Date.UTC(2020, 1), 'january.audit.zst')
    await archive(Date.UTC(2020, 2), 'february.audit.zst')
    log = await openWholeLog(store, inFolder(), { publicKey })
  })
  afterAll(async () => {
    await log.close()
    await audit.close()
    await store.close()
  })

  it('searches the same rows, in the same order, as before they were archived', async () => {
    expect(before[0]).toHaveLength(120)
    expect(await readAll(store)).not.toEqual(before)
    expect(toComparable(await readAll(log.store))).toEqual(toComparable(before))
    expect(log).toMatchObject({ missing: [], problems: [], count: 2 })
  })
  /** Hashes as text: the databases return different kinds of bytes. */
  const toComparable = (value: unknown) =>
    JSON.parse(
      JSON.stringify(value, (_name, each: unknown) =>
        each instanceof Uint8Array || (each as { type?: unknown } | null)?.type === 'Buffer'
          ? Buffer.from((each as { data?: Uint8Array }).data ?? (each as Uint8Array)).toString('hex')
          : each,
      ),
    )

  it('reads rows by chain, and those of one reference in pages', async () => {
    const [{ chain, reference, subject } = { chain: '', reference: '', subject: '' }] = rows
    const found = await log.store.audit.byReference(reference)
    expect(found).toMatchObject([{ chain, subject, released: RELEASED, phase: 'outcome' }])
    const start = { chain: '', sequence: 0 }
    expect(await log.store.audit.pageOfReference(reference, start, 5)).toEqual(found)
    expect(await log.store.audit.pageOfReference(reference, found[0] ?? start, 5)).toEqual([])
    expect((await log.store.audit.bySubject(subject, 1)).length).toBe(1)
    for (const name of [FIRST, ...JANUARY]) {
      expect((await log.store.audit.page(name, 28, 5)).map((row) => row.sequence)).toEqual([29, 30])
      expect((await log.store.audit.head(name))?.sequence).toBe(30)
    }
  })

  it('reads no further block of the archives when it has as many rows as are wanted', async () => {
    const consent = 'Adé ₦ “3”'
    const all = await log.store.audit.byConsent(consent)
    const some = await log.store.audit.byConsent(consent, 1)
    expect(some.length).toBeGreaterThan(0)
    expect(some.length).toBeLessThan(all.length)
  })

  it('closes the files of the archives', async () => {
    const opened = await openWholeLog(store, inFolder(), { publicKey })
    await opened.close()
    await expect(opened.store.audit.byReference(rows[0]?.reference ?? '')).rejects.toThrow('closed')
  })

  it('reads the same of single chains, in every range', async () => {
    const other = await (await SQLITE.createPlace()).open()
    onTestFinished(() => other.close())
    await writeOldLog(other, newFolder())
    const expected = await readChains(other)
    expect(expected.length).toBe(3 * RANGES.length * 5)
    expect(await readChains(log.store)).toEqual(expected)
  })

  it('exports every row, and the consents of all of them', async () => {
    const lines = (await Array.fromAsync(exportRows(log.store.audit))).join('').trim().split('\n')
    const stored = (await Array.fromAsync(exportRows(store.audit))).join('').trim().split('\n')
    expect(lines.length).toBe(stored.length + 120)
    const { consents } = await listConsents(log.store.audit, { from: '2019-01-01T00:00:00.000Z' })
    expect(consents.reduce((sum, each) => sum + each.verifications, 0)).toBe(40)
  })

  it('writes an extract in which checkpoints prove every archived row', async () => {
    for (const view of ['verifications', 'rows'] as const) {
      const pieces = writeExtract(
        {
          store: log.store,
          archived: log.archived,
          missingArchives: 0,
          signer,
          isDemo: false,
          signNow: () => audit.checkpoint(),
        },
        { view, format: 'ndjson', filter: { to: '2020-03' }, shownFilter: {}, keyNames: new Map() },
      )
      const text = Buffer.from((await Array.fromAsync(pieces)).join(''))
      const result = await verifyExtract(Readable.from([text]), publicKey)
      expect(result).toMatchObject({ sound: true, rows: 120, unproved: 0, about: { archives: 0 } })
    }
  })

  it('proves archived rows', async () => {
    const deps = { store: log.store, archived: log.archived, signer, checkpointDir: folder }
    for (const { reference, subject } of rows.filter((_row, index) => index % 13 === 0)) {
      const result = checkProof(Buffer.from(await prove(deps, reference)), publicKey)
      expect(result).toMatchObject({ sound: true, row: { request_reference: reference, subject } })
    }
    await expect(prove({ ...deps, store }, rows[0]?.reference ?? '')).rejects.toThrow(
      /name its archive with --archive/,
    )
  })

  it('refuses an archive that was changed anywhere, or leaves it out', async () => {
    const path = join(folder, 'january.audit.zst')
    const sound = readFileSync(path)
    for (let at = 0; at < sound.length; at += Math.ceil(sound.length / 40)) {
      const bytes = Buffer.from(sound)
      bytes[at] = (bytes[at] ?? 0) ^ 1
      writeFileSync(path, bytes)
      await expect(openWhole([path]), `byte ${at}`).rejects.toThrow(
        /was changed|cut off or damaged|no valid signature/,
      )
    }
    const rest = await openWholeLog(store, inFolder(), { publicKey, skips: true })
    onTestFinished(rest.close)
    expect(rest.missing).toEqual([{ number: 1, before: '2020-02-01T00:00:00.000Z', rows: 90 }])
    expect(rest.problems).toHaveLength(1)
    writeFileSync(path, sound)
    expect((await openWhole([path])).missing).toMatchObject([{ number: 2 }])
  })

  it('reads a copy of an archive once, and says when a search was ended early', async () => {
    const copy = join(newFolder(), 'copy.audit.zst')
    copyFileSync(join(folder, 'january.audit.zst'), copy)
    const { archived } = await openWhole([...inFolder(), copy])
    const [{ reference } = { reference: '' }] = rows
    expect(await archived.find('request_reference', [reference])).toHaveLength(1)
    const over = await openWholeLog(store, [...inFolder(), copy], { publicKey, isOver: () => true })
    onTestFinished(over.close)
    expect(await over.store.audit.byReference(reference)).toEqual([])
    expect([archived.isCut(), over.archived.isCut()]).toEqual([false, true])
  })
})
