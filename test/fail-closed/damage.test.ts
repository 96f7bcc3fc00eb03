import { closeSync, fstatSync, openSync, readFileSync, rmSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createPlace, PEOPLE, toNin } from '../battery/place.ts'
import { startSpawned } from './spawned.ts'

const PAGE_BYTES = 4096
const MAX_REQUESTS = 2000

/** Overwrites all but the first quarter of an open database. The records are at its end. */
function damage(path: string): void {
  const file = openSync(path, 'r+')
  const pages = Math.floor(fstatSync(file).size / PAGE_BYTES)
  const garbage = Buffer.alloc(PAGE_BYTES, 0xa5)
  for (let page = Math.floor(pages / 4); page < pages; page++)
    writeSync(file, garbage, 0, PAGE_BYTES, page * PAGE_BYTES)
  closeSync(file)
}

it('a server whose database is damaged while it runs exits, logs why, and discloses no record', async () => {
  const place = await createPlace({ TABBAT_LOG_LEVEL: 'info' })
  const folder = place.settings.TABBAT_DATA_DIR ?? ''
  const server = await startSpawned(place)
  onTestFinished(() => {
    server.stop()
    rmSync(folder, { recursive: true })
  })
  expect((await server.verifyNin(toNin(0)))?.status).toBe(200)

  damage(join(folder, 'tabbat.db'))
  for (let index = 0; index < MAX_REQUESTS && server.child.exitCode === null; index++)
    await server.verifyNin(toNin(index % PEOPLE))
  expect(await server.ended).toBe(1)
  const { text, events } = await server.log()
  expect(events.filter((event) => event === 'database_damaged')).toHaveLength(1)
  expect(text).not.toContain(toNin(0).slice(0, 8))
})

/** Flips one bit in every occurrence of these bytes in the file. */
function flipAll(path: string, wanted: Uint8Array): number {
  const bytes = readFileSync(path)
  let flipped = 0
  for (let at = bytes.indexOf(wanted); at !== -1; at = bytes.indexOf(wanted, at + 1)) {
    const place = at + wanted.length - 1
    bytes[place] = (bytes[place] ?? 0) ^ 1
    flipped += 1
  }
  writeFileSync(path, bytes)
  return flipped
}

/** The row of one person. */
function readRow(path: string): { subject: Uint8Array; sealed: Uint8Array } {
  const database = new DatabaseSync(path)
  const row = database.prepare("SELECT subject, sealed FROM registry WHERE kind = 'nin' LIMIT 1").get()
  database.close()
  return row as { subject: Uint8Array; sealed: Uint8Array }
}

describe('a flipped bit', () => {
  const prepare = async (extra: Record<string, string> = {}) => {
    const place = await createPlace({ TABBAT_LOG_LEVEL: 'info', ...extra })
    const folder = place.settings.TABBAT_DATA_DIR ?? ''
    const path = join(folder, 'tabbat.db')
    return { place, folder, path, row: readRow(path) }
  }

  it('in a sealed record leads to 503 and an exit, never to 500 or "not verified"', async () => {
    const { place, folder, path, row } = await prepare()
    expect(flipAll(path, row.sealed)).toBe(1)
    const server = await startSpawned(place)
    onTestFinished(() => {
      server.stop()
      rmSync(folder, { recursive: true })
    })
    const statuses = new Set<number | undefined>()
    for (let index = 0; index < PEOPLE; index++) statuses.add((await server.verifyNin(toNin(index)))?.status)
    expect(statuses.isSubsetOf(new Set([200, 503, undefined]))).toBe(true)
    expect(await server.ended).toBe(1)
    expect((await server.log()).events.filter((event) => event === 'database_damaged')).toHaveLength(1)
  })

  it('in an index or its row is found by the scrub of a running server', async () => {
    const { place, folder, path, row } = await prepare({ TABBAT_SCRUB: '1s' })
    // In the table and in the index: the row exists, but its own subject does not find it.
    expect(flipAll(path, row.subject)).toBe(2)
    const server = await startSpawned(place)
    onTestFinished(() => {
      server.stop()
      rmSync(folder, { recursive: true })
    })
    expect(await server.ended).toBe(1)
    expect((await server.log()).events).toContain('database_damaged')
  })

  it('in an index is found at the start after a crash, before any request is answered', async () => {
    const { place, folder, path, row } = await prepare()
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const first = await startSpawned(place)
    expect((await first.verifyNin(toNin(0)))?.status).toBe(200)
    first.stop()
    await first.ended
    const database = new DatabaseSync(path)
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    database.close()
    expect(flipAll(path, row.subject)).toBe(2)
    const second = await startSpawned(place)
    expect([second.url, await second.ended]).toEqual(['', 1])
    expect((await second.log()).text).toContain('is damaged. Restore a backup')
  })
})
