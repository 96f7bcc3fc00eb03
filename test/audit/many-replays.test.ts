import { join } from 'node:path'
import { beforeEach, expect, it, onTestFinished } from 'vitest'
import { archiveLog } from '../../src/audit/archive/archive-log.ts'
import { openWholeLog } from '../../src/audit/archive/whole-log.ts'
import type { AuditTable } from '../../src/audit/audit-table.ts'
import type { ScanPosition } from '../../src/audit/reverse-scan.ts'
import type { AuditEntry } from '../../src/audit/row.ts'
import { searchAudit } from '../../src/audit/search.ts'
import { readRowsToShow, searchTimelines } from '../../src/audit/search-timelines.ts'
import type { Store } from '../../src/context/store.ts'
import { findRequestsOf } from '../../src/requests/search.ts'
import { describeEngines, newFolder, POSTGRES, SQLITE } from '../engines.ts'
import { openLog, publicKey, signer, writeOldLog } from './old-log.ts'

const REFERENCE = 'ver_replayed'
const SUBJECT = 'ab'.repeat(32)
const REPLAYS = 1200
const timeOf = (second: number) => new Date(Date.UTC(2020, 0, 2) + second * 1000).toISOString()
const about = { request_reference: REFERENCE, key_id: 'Ab12Cd34', operation: 'verify_nin' }

/** The outcome is written after some replays: clocks of nodes differ. */
const ENTRIES: readonly AuditEntry[] = [
  { ...about, phase: 'intent', time: timeOf(1), started_at: timeOf(0) },
  ...Array.from({ length: REPLAYS }, (_each, index) => ({
    ...about,
    phase: 'replay',
    time: timeOf(10 + index),
    outcome: 'verified',
    subject: SUBJECT,
  })),
  { ...about, phase: 'outcome', time: timeOf(50), outcome: 'verified', subject: SUBJECT },
]

describeEngines([SQLITE, POSTGRES], (engine) => {
  let store: Store
  let folder: string
  beforeEach(async () => {
    store = await (await engine.createPlace()).open()
    onTestFinished(() => store.close())
    folder = newFolder()
    await writeOldLog(store, folder, signer, ENTRIES)
  })

  async function expectLimits(audit: AuditTable): Promise<void> {
    const { rows, isWhole } = await readRowsToShow(audit, REFERENCE)
    expect([rows.length, isWhole]).toEqual([1000, false])
    expect(rows.map(({ time }) => time)).toEqual(rows.map(({ time }) => time).toSorted())
    expect(rows.filter(({ phase }) => phase !== 'replay').map(({ phase }) => phase)).toEqual([
      'intent',
      'outcome',
    ])
    // The first replays, not any.
    expect(rows.at(-1)?.time).toBe(timeOf(10 + 997))
    expect((await audit.byReference(REFERENCE, 2)).map(({ phase }) => phase)).toEqual(['intent', 'outcome'])
    expect(await audit.periodOf(REFERENCE)).toEqual({ from: timeOf(0), to: timeOf(9 + REPLAYS) })
    expect(await audit.subjectOf(REFERENCE)).toBe(SUBJECT)
    expect([await audit.periodOf('ver_none'), await audit.subjectOf('ver_none')]).toEqual([
      undefined,
      undefined,
    ])
  }

  async function expectSearches(audit: AuditTable): Promise<void> {
    const filter = { request_reference: REFERENCE }
    const limits = { page: 500, looks: 400, indexed: 1000 }
    const found: number[] = []
    let next: ScanPosition | undefined
    do {
      const page = await searchAudit(audit, filter, next, limits)
      found.push(...page.found.map(({ sequence }) => sequence))
      next = page.next
    } while (next)
    // 30 rows were there before.
    expect(found.toSorted((one, other) => one - other)).toEqual(ENTRIES.map((_entry, index) => 31 + index))
    const timelines = await searchTimelines(audit, filter, undefined, limits)
    expect(timelines.found).toMatchObject([{ reference: REFERENCE, outcome: 'verified', isWhole: true }])
  }

  it('reads a limited number of the rows of a stored response that was returned very often', async () => {
    await expectLimits(store.audit)
    await expectSearches(store.audit)
  })

  it('limits the rows of archives as well', async () => {
    const audit = await openLog(store, folder)
    onTestFinished(() => audit.close())
    const path = join(folder, 'january.audit.zst')
    await archiveLog(Date.UTC(2020, 1), path, { store, signer, audit, by: 'test' })
    expect(await store.audit.byReference(REFERENCE)).toEqual([])
    const log = await openWholeLog(store, [path], { publicKey })
    onTestFinished(log.close)
    await expectLimits(log.store.audit)
    await expectSearches(log.store.audit)
  })

  it('finds no requests without a period', async () => {
    expect(await findRequestsOf(store.requests, REFERENCE, undefined)).toEqual([])
    expect(await findRequestsOf(store.requests, REFERENCE, { from: 'x', to: 'y' })).toEqual([])
  })
})
