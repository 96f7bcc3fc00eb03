import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { archiveLog } from '../../src/audit/archive/archive-log.ts'
import { openWholeLog } from '../../src/audit/archive/whole-log.ts'
import { newFolder, SQLITE } from '../engines.ts'
import { FIRST, openLog, publicKey, signer, writeOldLog } from './old-log.ts'

/** More than two pages. */
const ADDED = 1300

/** An archive with many checkpoints, as of some hours of a busy server. */
async function openArchive() {
  const store = await (await SQLITE.createPlace()).open()
  onTestFinished(() => store.close())
  const folder = newFolder()
  await writeOldLog(store, folder)
  const [first] = await store.audit.listCheckpoints()
  if (!first) throw new Error('there is no checkpoint')
  const copies = Array.from({ length: ADDED }, (_each, index) => {
    const time = new Date(Date.parse(first.time) - 1000 * (ADDED - index)).toISOString()
    const body = JSON.stringify({ ...JSON.parse(first.body), time })
    return [time, body, signer.sign(body)]
  })
  await store.database.transaction((tx) =>
    tx.prepare('INSERT INTO checkpoints (time, body, signature) VALUES ($1, $2, $3)').runAll(copies),
  )
  const audit = await openLog(store, folder)
  onTestFinished(() => audit.close())
  const path = join(folder, 'all.audit.zst')
  await archiveLog(Date.UTC(2020, 2), path, { store, signer, audit, by: 'test' })
  const log = await openWholeLog(store, [path], { publicKey })
  onTestFinished(log.close)
  return log.archived
}

it('the checkpoints of an archive are read from a time on, and then those before it', async () => {
  const archived = await openArchive()
  const read = async (after: string) => {
    const pages = await Array.fromAsync(archived.checkpoints(FIRST, after))
    return pages.map((page) => page.map(({ time }) => time))
  }
  const inOrder = await read('')
  expect(inOrder.length).toBeGreaterThan(2)
  const times = inOrder.flat()
  expect(times.length).toBeGreaterThan(ADDED)
  expect(times).toEqual(times.toSorted())
  for (const [index, page] of inOrder.entries())
    for (const after of [page[0], page[7], page.at(-1)] as string[])
      expect(await read(after)).toEqual([...inOrder.slice(index), ...inOrder.slice(0, index)])
  expect(await read('9999')).toEqual(inOrder)
  expect(await Array.fromAsync(archived.checkpoints('unknown-1', ''))).toEqual([])
})
