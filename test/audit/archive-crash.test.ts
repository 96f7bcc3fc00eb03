import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { archiveLog } from '../../src/audit/archive/archive-log.ts'
import { findArchives, openWholeLog } from '../../src/audit/archive/whole-log.ts'
import { verifyStore } from '../../src/audit/verify/verify-store.ts'
import { describeEngines, newFolder, POSTGRES, SQLITE } from '../engines.ts'
import { openLog, publicKey, signer, writeOldLog } from './old-log.ts'

const STEPS = [
  'planned',
  'written',
  'proved',
  'published',
  'stated',
  'recorded',
  'rows',
  'blocks',
  'checkpoints',
  'removed',
] as const
const CHILD = join(import.meta.dirname, 'archive-child.ts')

describeEngines([SQLITE, POSTGRES], (engine) => {
  it.each(STEPS)(
    'a process that is killed when it has %s loses no row, and the next run completes it',
    async (step) => {
      const place = await engine.createPlace()
      const folder = newFolder()
      const store = await place.open()
      const rows = await writeOldLog(store, folder)
      const options = JSON.stringify({ ...place.options, folder })
      const child = spawn(process.execPath, [CHILD, options, step], {
        stdio: ['ignore', 'inherit', 'inherit'],
      })
      const [, signal] = await once(child, 'exit')
      expect(signal).toBe('SIGKILL')
      // Every row is in the database or in an archive, and nothing contradicts a checkpoint.
      const findAll = async () => {
        const archives = findArchives([folder])
        let found = 0
        const log = await openWholeLog(store, archives, { publicKey })
        for (const { reference } of rows) found += (await log.store.audit.byReference(reference)).length
        await log.close()
        return { found, verdict: await verifyStore(store, { publicKey, archives }) }
      }
      expect(await findAll()).toMatchObject({ found: rows.length, verdict: { sound: true } })
      expect(await verifyStore(store, { publicKey })).toMatchObject({ sound: true })
      const audit = await openLog(store, folder)
      await archiveLog(Date.UTC(2020, 2), join(folder, 'again.audit.zst'), {
        store,
        signer,
        audit,
        by: 'test',
      })
      await audit.close()
      const { found, verdict } = await findAll()
      expect(found).toBe(rows.length)
      expect(verdict).toMatchObject({ sound: true, archives: { missing: [], notRemoved: 0 } })
      expect((await store.archives.list()).map(({ number }) => number)).toEqual([1])
      for (const { reference } of rows) expect(await store.audit.byReference(reference)).toEqual([])
      await store.close()
    },
  )
})
