import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, it, onTestFinished, vi } from 'vitest'
import { type ArchiveDeps, archiveLog } from '../../src/audit/archive/archive-log.ts'
import { findArchives } from '../../src/audit/archive/whole-log.ts'
import type { AuditLog } from '../../src/audit/audit-log.ts'
import { withAuditSnapshot } from '../../src/audit/audit-snapshot.ts'
import { findCheckpointFile } from '../../src/audit/checkpoint-file.ts'
import { findLosses } from '../../src/audit/losses.ts'
import { toVerdictText } from '../../src/audit/verify/verdict-text.ts'
import { verifyStore } from '../../src/audit/verify/verify-store.ts'
import type { Store } from '../../src/context/store.ts'
import { ARCHIVE_LOCK, withProcessLock } from '../../src/database/process-lock.ts'
import { scrubBlocks } from '../../src/registry/scrub-pass.ts'
import { createBlockScrubs } from '../../src/registry/scrub-table.ts'
import { describeEngines, newFolder, POSTGRES, SQLITE_WITH_WRITER } from '../engines.ts'
import {
  append,
  checkpoint,
  FEBRUARY,
  FIRST,
  JANUARY,
  OLD_CHAINS,
  openLog,
  publicKey,
  signer,
  writeOldLog,
} from './old-log.ts'

const MARCH = Date.UTC(2020, 2)

describeEngines([SQLITE_WITH_WRITER, POSTGRES], (engine) => {
  let store: Store
  let folder: string
  let audit: AuditLog
  let open: () => Promise<Store>
  beforeEach(async () => {
    const place = await engine.createPlace()
    open = async () => {
      const opened = await place.open()
      onTestFinished(() => opened.close())
      return opened
    }
    store = await open()
    folder = newFolder()
    await writeOldLog(store, folder)
    audit = await openLog(store, folder)
    onTestFinished(() => audit.close())
    await audit.record([{ phase: 'outcome', request_reference: 'ver_now' }])
  })

  const toDeps = (more: Partial<ArchiveDeps> = {}): ArchiveDeps => ({
    store,
    signer,
    audit,
    by: 'test',
    ...more,
  })
  const archive = (before = MARCH, name = 'all.audit.zst', more: Partial<ArchiveDeps> = {}) =>
    archiveLog(before, join(folder, name), toDeps(more))
  const verify = (archives: readonly string[] = [], more: Partial<Parameters<typeof verifyStore>[1]> = {}) =>
    verifyStore(store, { publicKey, archives, ...more })
  const verifyInThreads = (archives: readonly string[] = []) =>
    verify(archives, { threadsFromRows: 0, threads: 1 })
  const inFolder = () => findArchives([folder])
  const countOldRows = async () => {
    const heads = await Promise.all(OLD_CHAINS.map((chain) => store.audit.head(chain)))
    return heads.reduce((sum, head) => sum + (head?.sequence ?? 0), 0)
  }
  const readText = async (archives: readonly string[]) => {
    const { headline, compared, limits } = toVerdictText(await verify(archives))
    return [headline, ...compared, ...limits].join('\n')
  }

  it('moves whole chains to a file, and the history is verified with it', async () => {
    const { archived, left } = await archive()
    expect(archived).toMatchObject({ number: 1, previous: null, rows: 120, by: 'test' })
    expect(archived?.chains.map(({ chain }) => chain)).toEqual(OLD_CHAINS)
    expect(left).toEqual([])
    expect(await countOldRows()).toBe(0)
    for (const check of [verify, verifyInThreads])
      expect(await check(inFolder())).toMatchObject({
        sound: true,
        fault: undefined,
        chains: 1,
        unsigned: 0,
        archives: { compared: [{ number: 1, rows: 120 }], missing: [], notRemoved: 0 },
      })
    const shown: number[][] = []
    await verify(inFolder(), { onProgress: (rows, total) => shown.push([rows, total]) })
    expect(shown).toContainEqual([120, 120])
    expect(await readText(inFolder())).toContain('120 rows in 1 archive')
    const statement = (await store.audit.page(await liveChain(), 0, 9)).map(({ phase }) => phase)
    expect(statement).toEqual(['outcome', 'log_archived'])
  })
  const liveChain = async () =>
    (await store.audit.chains()).find(({ isArchived }) => !isArchived)?.chain ?? ''

  it('refuses a file that systemd would delete, and removes no row', async () => {
    vi.stubEnv('CREDENTIALS_DIRECTORY', '/run/credentials/tabbat.service')
    onTestFinished(() => void vi.unstubAllEnvs())
    for (const path of ['/tmp/a.audit.zst', '/var/tmp/no/a.audit.zst', '/proc/self/root/tmp/a.audit.zst'])
      await expect(archiveLog(MARCH, path, toDeps())).rejects.toThrow(
        `${path} is in a folder for temporary files, which systemd deletes when this process ends. No audit row was removed.`,
      )
    expect(await countOldRows()).toBe(120)
  })

  it('removes the checkpoints that are in the archive, and accepts a checkpoints.log from before', async () => {
    const before = await store.audit.listCheckpoints()
    await archive()
    const after = await store.audit.listCheckpoints()
    expect(after.length).toBeLessThan(before.length)
    const file = findCheckpointFile(join(folder, 'checkpoints.log'))
    expect(file.parts.length).toBe(1)
    for (const archives of [[], inFolder()])
      for (const threadsFromRows of [0, 1e9])
        expect(await verify(archives, { file, threadsFromRows, threads: 1 })).toMatchObject({ sound: true })
  })

  it('says which archives were not compared', async () => {
    await archive()
    for (const check of [verify, verifyInThreads])
      expect(await check()).toMatchObject({
        sound: true,
        archives: { compared: [], missing: [{ number: 1, rows: 120 }], notRemoved: 0 },
      })
    expect(await readText([])).toContain('Not compared: 120 rows in 1 archive (number 1).')
    await expect(verify([join(folder, 'gone.audit.zst')])).rejects.toThrow(/There is no archive at .*gone/)
  })

  it('archives month by month, each archive with the digest of the one before', async () => {
    const first = await archive(Date.UTC(2020, 1), 'january.audit.zst')
    expect(first.archived?.chains.map(({ chain }) => chain)).toEqual([FIRST, ...JANUARY])
    const second = await archive(MARCH, 'february.audit.zst')
    expect(second.archived).toMatchObject({ number: 2, previous: first.archived?.digest, rows: 30 })
    expect(second.archived?.chains.map(({ chain }) => chain)).toEqual(FEBRUARY)
    expect(await verify(inFolder())).toMatchObject({ sound: true, archives: { missing: [] } })
    expect(await verify([join(folder, 'february.audit.zst')])).toMatchObject({
      sound: true,
      archives: { missing: [{ number: 1 }] },
    })
    expect(await archive(MARCH, 'again.audit.zst')).toEqual({ archived: undefined, left: [] })
    expect(existsSync(join(folder, 'again.audit.zst'))).toBe(false)
  })

  it('leaves a month with a chain that is still in use', async () => {
    await store.audit.sendHeartbeat(JANUARY[1], 'old', Date.now())
    const claimed = store.database.prepare(
      "UPDATE audit_chains SET owner = 'host:1:a', retired_at = NULL, beat_at = $2 WHERE chain = $1",
    )
    await claimed.run(JANUARY[1], Date.now())
    const { archived, left } = await archive()
    expect(archived?.chains.map(({ chain }) => chain)).toEqual([FIRST, ...FEBRUARY])
    expect(left).toEqual([
      expect.stringMatching(
        /^The month y2020m01 stays in the database: chain y2020m01-bbbb0001-1 is not closed/,
      ),
    ])
    expect(await verify(inFolder())).toMatchObject({ sound: true, chains: 3 })
  })

  it('takes chains without a month one by one', async () => {
    const inUse = 'aaaa0002-1'
    await store.audit.claim(inUse, null, 'host:1:a', Date.now())
    await append(store, inUse, [{ phase: 'outcome', time: '2019-06-01T00:00:00.000Z' }])
    await checkpoint(store, folder)
    const { archived, left } = await archive()
    expect(archived?.chains.map(({ chain }) => chain)).toEqual(OLD_CHAINS)
    expect(left).toEqual([expect.stringMatching(/^Chain aaaa0002-1 stays in the database: .* is not closed/)])
  })

  it('lets a process that wrote nothing in an archived month begin another chain', async () => {
    // As a process sees it whose clock is behind.
    const table = { ...store.audit, openMonth: async () => 'y2020m01' }
    const idle = await openLog({ ...store, audit: table }, newFolder())
    const claimed = (await store.audit.chains()).find(({ owner }) => owner === idle.owner)?.chain ?? ''
    expect(claimed).toMatch(/^y2020m01-/)
    expect((await archive()).archived?.chains.map(({ chain }) => chain)).toEqual(OLD_CHAINS)
    await idle.record([{ phase: 'outcome', request_reference: 'ver_idle' }])
    const [row] = await store.audit.byReference('ver_idle')
    expect(row?.chain).toMatch(/^[0-9a-f]{8}-\d+$/)
    await idle.close()
    expect(await archive(MARCH, 'again.audit.zst')).toEqual({ archived: undefined, left: [] })
    expect(await verify(inFolder())).toMatchObject({ sound: true, archives: { notRemoved: 0 } })
  })

  it('refuses a chain that is extended while the file is written', async () => {
    const onStep = async (step: string) => {
      if (step === 'proved') await append(store, FIRST, [{ phase: 'outcome' }])
    }
    await expect(archive(MARCH, 'late.audit.zst', { onStep })).rejects.toThrow(
      /was extended or archived by another process/,
    )
    expect(await countOldRows()).toBe(121)
    expect(await verify()).toMatchObject({ sound: true })
    // The file that was written holds rows that the database still has.
    expect(await verify(inFolder())).toMatchObject({ sound: true })
  })

  it('is refused while another process archives', async () => {
    const other = await open()
    await withProcessLock(other, ARCHIVE_LOCK, async () => {
      await expect(archive()).rejects.toThrow('Another process is archiving the audit log.')
    })
    expect((await archive()).archived?.rows).toBe(120)
  })

  it('archives while two nodes write, which wait for nothing and lose nothing', async () => {
    const other = await open()
    const second = await openLog(other, newFolder())
    let isDone = false
    const write = async (log: AuditLog, name: string) => {
      let count = 0
      while (!isDone) await log.record([{ phase: 'outcome', request_reference: `ver_${name}_${count++}` }])
      return count
    }
    const writing = [write(audit, 'one'), write(second, 'two')]
    await archive().finally(() => {
      isDone = true
    })
    const [one = 0, two = 0] = await Promise.all(writing)
    await second.close()
    expect(Math.min(one, two)).toBeGreaterThan(0)
    // With the row of the first node, and the statement.
    expect(await verify(inFolder())).toMatchObject({
      sound: true,
      rows: one + two + 2,
      archives: { notRemoved: 0 },
    })
  })

  it('never overwrites a file, and says why one cannot be written', async () => {
    writeFileSync(join(folder, 'all.audit.zst'), 'something')
    await expect(archive()).rejects.toThrow(/exists already/)
    await expect(archive(MARCH, 'no/such/folder.audit.zst')).rejects.toThrow(
      /the folder does not exist. No audit row was removed/,
    )
    expect(readFileSync(join(folder, 'all.audit.zst'), 'utf8')).toBe('something')
    expect(await countOldRows()).toBe(120)
  })

  it('finds every kind of change to an archive', async () => {
    await archive()
    const [path = ''] = inFolder()
    const sound = readFileSync(path)
    const changed = (change: (bytes: Buffer) => Buffer) => {
      writeFileSync(path, change(Buffer.from(sound)))
      return verify([path]).then(
        ({ fault }) => fault?.reason,
        (error: Error) => error.message,
      )
    }
    const flip = (at: number) => (bytes: Buffer) => {
      bytes[at] = (bytes[at] ?? 0) ^ 1
      return bytes
    }
    for (let at = 0; at < sound.length; at += Math.ceil(sound.length / 60))
      expect(await changed(flip(at)), `byte ${at}`).toMatch(/changed|damaged/)
    expect(await changed((bytes) => bytes.subarray(0, bytes.length - 5))).toMatch(/cut off or damaged/)
    expect(await changed(() => Buffer.from('x'))).toMatch(/no complete audit archive/)
    writeFileSync(path, sound)
    expect(await verify([path])).toMatchObject({ sound: true })
  })

  it('finds that a statement was removed or changed in the database', async () => {
    await archive(Date.UTC(2020, 1), 'january.audit.zst')
    await archive(MARCH, 'february.audit.zst')
    const run = (sql: string) => store.database.prepare(sql).run()
    await run(
      "UPDATE audit_archives SET statement = replace(statement, '2020m02', '2020m03') WHERE number = 2",
    )
    for (const check of [verify, verifyInThreads])
      expect((await check()).fault?.reason).toBe('the statement of archive 2 has no valid signature')
    await run('DELETE FROM audit_archives WHERE number = 2')
    // Checkpoints that are still in the database name the chains of the archive.
    await checkpointWithOldChain()
    expect((await verify([join(folder, 'february.audit.zst')])).fault?.reason).toMatch(
      /An older copy of the database was restored/,
    )
    await run('UPDATE audit_archives SET number = 2 WHERE number = 1')
    expect((await verify()).fault?.reason).toBe('the statement of archive 2 has no valid signature')
  })
  const checkpointWithOldChain = () => checkpoint(store, folder)

  it('refuses to delete rows that are not in an archive', async () => {
    const table = engine === POSTGRES ? 'audit_undated' : 'audit'
    const run = (sql: string) => store.database.prepare(sql).run()
    await expect(run(`DELETE FROM ${table}`)).rejects.toThrow('the audit log cannot be changed')
    await archive()
    await expect(run(engine === POSTGRES ? 'DELETE FROM audit' : `DELETE FROM ${table}`)).rejects.toThrow(
      'the audit log cannot be changed',
    )
    await expect(run('DELETE FROM checkpoints')).rejects.toThrow('the audit log cannot be changed')
  })

  it('leaves nothing behind that a server would take for damage or a loss', async () => {
    await archive()
    const { database } = store
    for (const blocks of createBlockScrubs(database))
      expect(await scrubBlocks(blocks, async () => {})).toBe(0)
    for (const table of ['audit_subject_pages', 'audit_consent_pages', 'audit_consent_blocks']) {
      const counts = await database.prepare(`SELECT COUNT(*) AS blocks FROM ${table}`).get()
      expect([table, Number(counts?.blocks)]).toEqual([table, 0])
    }
    expect(await findLosses(store.audit, folder)).toEqual([])
    await audit.close()
    // The last checkpoint of the file may be older than the archive.
    const again = await openLog(store, folder)
    await again.record([{ phase: 'outcome' }])
    await again.close()
    expect(await verify(inFolder())).toMatchObject({ sound: true, unsigned: 0 })
    expect(readdirSync(folder).filter((name) => name.endsWith('.part'))).toEqual([])
  })

  it('keeps a backup of the statements', async () => {
    await archive()
    const archives = await withAuditSnapshot(store, (scan) => scan.archives())
    expect(archives.map(([number]) => Number(number))).toEqual([1])
  })

  if (engine === POSTGRES)
    it('drops the partitions of archived months, and waits for a transaction that reads them', async () => {
      const partitions = async () =>
        (
          await store.database
            .prepare(
              "SELECT inhrelid::regclass::text AS name FROM pg_inherits WHERE inhparent = 'audit'::regclass",
            )
            .all()
        ).map(({ name }) => String(name))
      expect(await partitions()).toEqual(expect.arrayContaining(['audit_y2020m01', 'audit_y2020m02']))
      const other = await open()
      const { promise: mayEnd, resolve: end } = Promise.withResolvers<void>()
      const { promise: isReading, resolve: begun } = Promise.withResolvers<void>()
      const reading = other.database.transaction(async (tx) => {
        await tx.prepare('SELECT COUNT(*) FROM audit').get()
        begun()
        await mayEnd
      })
      await isReading
      let steps = 0
      const onStep = (step: string) => {
        if (step === 'rows' && ++steps === 1) end()
      }
      await archive(MARCH, 'all.audit.zst', { onStep })
      await reading
      expect(steps).toBeGreaterThan(1)
      expect(await partitions()).not.toContain('audit_y2020m01')
      const tables = await store.database.prepare("SELECT to_regclass('audit_y2020m01') AS found").get()
      expect(tables?.found).toBe(null)
      expect(await verify(inFolder())).toMatchObject({ sound: true })
    })
})
