import { createSecretKey } from 'node:crypto'
import { mkdirSync, readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { findArchives } from '../../src/audit/archive/whole-log.ts'
import { verifyStore } from '../../src/audit/verify/verify-store.ts'
import { DAY_MS } from '../../src/contract/time.ts'
import type { Keyring } from '../../src/crypto/keyring.ts'
import { createRetention } from '../../src/server/cleanup.ts'
import type { Log } from '../../src/telemetry/log.ts'
import { describeEngines, newFolder, POSTGRES, SQLITE_WITH_WRITER } from '../engines.ts'
import { openLog, publicKey, writeOldLog } from './old-log.ts'

const keyring = { 'audit-signing': createSecretKey(Buffer.alloc(32, 42)) } as unknown as Keyring
const config = (auditArchiveDir: string, auditKeep: number | 'off' = 365 * DAY_MS) => ({
  auditKeep,
  auditArchiveDir,
  recordsKeep: 'off' as const,
})

describeEngines([SQLITE_WITH_WRITER, POSTGRES], (engine) => {
  async function openPlace() {
    const place = await engine.createPlace()
    const folder = newFolder()
    const store = await place.open()
    onTestFinished(() => store.close())
    await writeOldLog(store, folder)
    const audit = await openLog(store, folder)
    onTestFinished(() => audit.close())
    const events: unknown[] = []
    const log = {
      event: (_level: string, event: string, facts: object) => void events.push({ event, ...facts }),
      failure: (error: unknown) => void events.push(error),
    } as unknown as Log
    const deps = { store, audit, keyring, log, workerNumber: 1 }
    return { store, deps, events, archives: join(folder, 'archives') }
  }
  const never = () => false

  it('archives what TABBAT_AUDIT_KEEP no longer keeps, once', async () => {
    const { store, deps, events, archives } = await openPlace()
    const retention = createRetention(config(archives), deps)
    await retention.deleteExpired(never)
    await retention.deleteExpired(never)
    expect(events).toEqual([{ event: 'audit_archived', number: 1, rows: 120 }])
    const files = findArchives([archives])
    expect(files).toEqual([expect.stringMatching(/audit-before-\d{4}-\d\d-\d{8}T\d{6}Z\.audit\.zst$/)])
    expect(statSync(files[0] ?? '').mode & 0o077).toBe(0)
    expect(await verifyStore(store, { publicKey, archives: files })).toMatchObject({
      sound: true,
      archives: { missing: [], notRemoved: 0 },
    })
    expect(await store.storage.list(0)).toHaveLength(1)
  })

  it('of several nodes one archives', async () => {
    const { store, deps, events, archives } = await openPlace()
    const nodes = [1, 2, 3].map(() => createRetention(config(archives), deps))
    await Promise.all(nodes.map(({ deleteExpired }) => deleteExpired(never)))
    expect(events).toEqual([{ event: 'audit_archived', number: 1, rows: 120 }])
    expect(await store.archives.list()).toHaveLength(1)
  })

  it('does nothing if it is off, or in another worker', async () => {
    const { store, deps, archives } = await openPlace()
    await createRetention(config(archives, 'off'), deps).deleteExpired(never)
    await createRetention(config(archives), { ...deps, workerNumber: 2 }).deleteExpired(never)
    expect(await store.archives.list()).toEqual([])
  })

  it('stops when the server stops, without an incomplete file', async () => {
    const { store, deps, events, archives } = await openPlace()
    await createRetention(config(archives), deps).deleteExpired(() => true)
    expect(events).toEqual([])
    expect(readdirSync(archives)).toEqual([])
    expect(await store.archives.list()).toEqual([])
  })

  it('removes incomplete files of interrupted runs after a day', async () => {
    const { deps, archives } = await openPlace()
    mkdirSync(archives)
    for (const name of ['old', 'young']) writeFileSync(join(archives, `${name}.audit.zst.part`), 'x')
    const before = (Date.now() - 2 * DAY_MS) / 1000
    utimesSync(join(archives, 'old.audit.zst.part'), before, before)
    await createRetention(config(archives), deps).deleteExpired(never)
    expect(readdirSync(archives).filter((name) => name.endsWith('.part'))).toEqual(['young.audit.zst.part'])
  })

  it('reports a folder that cannot be used, and removes nothing', async () => {
    const { store, deps, events, archives } = await openPlace()
    writeFileSync(archives, 'a file')
    await createRetention(config(archives), deps).deleteExpired(never)
    expect(events).toMatchObject([{ event: 'audit_archive_failed' }, expect.anything()])
    expect(await store.archives.list()).toEqual([])
  })
})
