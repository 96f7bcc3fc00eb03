import {
  chmodSync,
  closeSync,
  copyFileSync,
  mkdirSync,
  openSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import { openStore, type Store } from '../../src/context/store.ts'
import { openWriter, WriteError } from '../../src/database/sqlite-writer.ts'
import { newFolder } from '../engines.ts'
import { startChild } from './start-child.ts'

/** The uid of an unprivileged user. */
const UNPRIVILEGED_UID = 65534
const isRoot = process.getuid?.() === 0

const open = (dataDir: string, writerThread = false) =>
  openStore({ dataDir, databaseUrl: undefined, writerThread })
const fileIn = (dataDir: string) => join(dataDir, 'tabbat.db')

/** A folder with the database of a store that was used and closed. */
async function newUsedFolder(): Promise<string> {
  const dataDir = newFolder()
  const store = await open(dataDir)
  const records = Array.from({ length: 200 }, (_, index) => ({
    kind: 'nin' as const,
    subject: Buffer.alloc(32, index),
    keyVersion: 1,
    digest: Buffer.alloc(32),
    sealed: Buffer.alloc(900, index),
  }))
  await store.registry.save({ records, media: [], at: 1 })
  await store.close()
  return dataDir
}

const refusal = (message: RegExp) => ({ name: 'UserError', message: expect.stringMatching(message) })

describe('a file that cannot be used is refused with a reason', () => {
  const DAMAGED =
    /^\S+tabbat\.db is damaged or is not a Tabbat database\. Restore a backup or move the file away\.$/

  it('when it is not a database', async () => {
    const dataDir = newFolder()
    writeFileSync(fileIn(dataDir), 'x'.repeat(5000))
    await expect(open(dataDir)).rejects.toMatchObject(refusal(DAMAGED))
  })

  it('when its first page is overwritten', async () => {
    const dataDir = await newUsedFolder()
    const file = openSync(fileIn(dataDir), 'r+')
    writeSync(file, Buffer.alloc(3900, 0xa5), 0, 3900, 100)
    closeSync(file)
    await expect(open(dataDir)).rejects.toMatchObject(refusal(DAMAGED))
  })

  it('when it was truncated', async () => {
    const dataDir = await newUsedFolder()
    truncateSync(fileIn(dataDir), 4096 * 4)
    await expect(open(dataDir)).rejects.toMatchObject(refusal(DAMAGED))
  })

  it('when it is the database of another program, which is not changed', async () => {
    const dataDir = newFolder()
    const other = new DatabaseSync(fileIn(dataDir))
    other.exec('CREATE TABLE meta (name TEXT, value TEXT); CREATE TABLE invoices (id INTEGER)')
    await expect(open(dataDir)).rejects.toMatchObject(
      refusal(
        /^The database holds tables of another program\. Give Tabbat one of its own: set TABBAT_DATA_DIR/,
      ),
    )
    expect(other.prepare('SELECT COUNT(*) AS n FROM sqlite_schema').get()).toEqual({ n: 2 })
    other.close()
  })

  const UNWRITABLE =
    /^\S+ cannot be opened for writing\. Check the folder and its permissions, or set TABBAT_DATA_DIR\.$/

  it('when there is a file in place of the folder, or a folder in place of the file', async () => {
    const dataDir = newFolder()
    writeFileSync(join(dataDir, 'file'), '')
    await expect(open(join(dataDir, 'file', 'data'))).rejects.toMatchObject(refusal(UNWRITABLE))
    mkdirSync(fileIn(dataDir))
    await expect(open(dataDir)).rejects.toMatchObject(refusal(UNWRITABLE))
  })

  it.each([
    ['the folder may not be written', () => newFolder(), 0o555, 0o000],
    ['the file may not be written', newUsedFolder, 0o755, 0o444],
  ])('when %s', async (_when, create, folderMode, fileMode) => {
    const dataDir = await create()
    if (statSync(fileIn(dataDir), { throwIfNoEntry: false })) chmodSync(fileIn(dataDir), fileMode)
    chmodSync(dataDir, folderMode)
    const uid = isRoot ? { uid: UNPRIVILEGED_UID } : {}
    const { read, closed } = startChild({ do: 'open', options: { dataDir, databaseUrl: undefined }, ...uid })
    expect(await read()).toEqual(refusal(UNWRITABLE))
    await closed
  })
})

it('creates files that only their owner can read, even in a folder with mode 755', async () => {
  const dataDir = newFolder()
  chmodSync(dataDir, 0o755)
  const store = await open(dataDir)
  await store.meta.set({ root_fingerprint: 'a' })
  const modes = ['', '-wal', '-shm'].map((end) => statSync(fileIn(dataDir) + end).mode & 0o777)
  expect(modes).toEqual([0o600, 0o600, 0o600])
  await store.close()
})

it('opens the database after a crash: the file with its write-ahead log', async () => {
  const [dataDir, after] = [await newUsedFolder(), newFolder()]
  const store = await open(dataDir)
  await store.meta.set({ root_fingerprint: 'kept' })
  for (const end of ['', '-wal']) copyFileSync(fileIn(dataDir) + end, fileIn(after) + end)
  await store.close()
  const reopened = await open(after)
  expect(await reopened.meta.read()).toEqual({ root_fingerprint: 'kept' })
  await reopened.close()
})

describe('while another connection writes', () => {
  it.each([false, true])(
    'a store waits without blocking the event loop (writer thread: %s)',
    async (writerThread) => {
      const dataDir = newFolder()
      const store = await open(dataDir, writerThread)
      const other = new DatabaseSync(fileIn(dataDir))
      other.exec('BEGIN IMMEDIATE')
      let done = 0
      const writes = [
        store.meta.set({ root_fingerprint: 'a' }),
        store.meta.insert('carried_keys', 'b'),
        store.database.transaction((tx) => tx.prepare("INSERT INTO imports VALUES ('a', 'b', 1)").run()),
      ].map((write) => Promise.resolve(write).then(() => done++))
      for (let turn = 0; turn < 5; turn++) await new Promise((next) => setTimeout(next, 2))
      expect(done).toBe(0)
      other.exec('COMMIT')
      other.close()
      await Promise.all(writes)
      expect(await store.meta.read()).toEqual({ root_fingerprint: 'a', carried_keys: 'b' })
      await store.close()
    },
  )
})

describe('the writer', () => {
  async function withWriter(work: (writer: ReturnType<typeof openWriter>, store: Store) => Promise<void>) {
    const dataDir = newFolder()
    const store = await open(dataDir)
    const writer = openWriter(fileIn(dataDir))
    await work(writer, store)
    await writer.close()
    await store.close()
  }
  /** Fails at a state without a time, after those before it were written. */
  const publish = (node: string, ...times: readonly unknown[]) => ({
    table: 'sources' as const,
    method: 'publish',
    args: [times.map((at, index) => ({ node, name: `source ${index}`, operation: 'o', state: '{}', at }))],
  })
  const remove = (name: string) => ({ table: 'sources' as const, method: 'enable', args: [name] })
  /** Fails without a time. */
  const insert = (id: string, at: unknown = 1) => ({
    table: 'registry' as const,
    method: 'save',
    args: [{ records: [], media: [], at, progress: { id, state: 's' } }],
  })

  it('answers in the order of the calls, even when some fail', () =>
    withWriter(async (writer) => {
      const calls = Array.from({ length: 2000 }, (_, index) =>
        index % 3 === 0 ? insert('a', null) : index % 3 === 1 ? remove(`a ${index}`) : publish('a', index),
      )
      const results = await Promise.allSettled(calls.map(writer.call))
      for (const [index, result] of results.entries())
        if (index % 3 === 0)
          expect(result).toMatchObject({ status: 'rejected', reason: { name: 'WriteError', errcode: 1299 } })
        else if (index % 3 === 1) expect(result).toEqual({ status: 'fulfilled', value: false })
        else expect(result.status).toBe('fulfilled')
    }))

  it('rolls back only the call that failed', () =>
    withWriter(async (writer, store) => {
      const calls = [publish('a', 1, 2), publish('b', 1, null), publish('c', 1)]
      const results = await Promise.allSettled(calls.map(writer.call))
      expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
      expect((await store.sources.listStates(0)).map(({ node, name }) => `${node} ${name}`)).toEqual([
        'a source 0',
        'c source 0',
        'a source 1',
      ])
    }))

  it('does not repeat the written values in an error', () =>
    withWriter(async (writer) => {
      const key = { id: 'canary-id', name: 'canary-name', hash: null, scopes: [], hide: [], reveal: [] }
      const failure = await writer
        .call({ table: 'keys', method: 'insert', args: [key] })
        .catch((error: Error) => error)
      expect(failure).toBeInstanceOf(WriteError)
      expect(inspect(failure)).not.toContain('canary')
    }))

  it('passes the message of a UserError on', () =>
    withWriter(async (writer) => {
      const unknown = { id: 'unknown', hash: Buffer.alloc(32), scopes: [], hide: [], reveal: [] }
      await expect(
        writer.call({ table: 'keys', method: 'roll', args: [unknown, { ...unknown, id: 'next' }, 1] }),
      ).rejects.toMatchObject(refusal(/nothing was changed/))
    }))

  it('fails only the call that cannot be sent to a thread', () =>
    withWriter(async (writer) => {
      const results = await Promise.allSettled(
        [insert('a'), insert('b', () => {}), insert('c')].map(writer.call),
      )
      expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    }))

  it('finishes pending calls before it closes, and accepts no new ones', async () => {
    const dataDir = newFolder()
    const store = await open(dataDir)
    const writer = openWriter(fileIn(dataDir))
    const calls = Array.from({ length: 1500 }, (_, index) => writer.call(insert(String(index))))
    const closing = writer.close()
    await expect(writer.call(insert('late'))).rejects.toThrow(/ended/)
    await Promise.all([closing, ...calls])
    expect(await store.database.prepare('SELECT COUNT(*) AS n FROM imports').get()).toEqual({ n: 1500 })
    await writer.close()
    await store.close()
  })

  it('fails all calls when its thread has failed, and can still be closed', async () => {
    const writer = openWriter(join(newFolder(), 'no tables.db'))
    const results = await Promise.allSettled([insert('a'), insert('b')].map(writer.call))
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    await expect(writer.call(insert('c'))).rejects.toBeInstanceOf(WriteError)
    await writer.close()
  })
})
