import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Store } from '../../src/context/store.ts'
import type { Database } from '../../src/database/database.ts'
import { migrate, SCHEMA_VERSION } from '../../src/database/migrate.ts'
import { interrupt, openDatabase } from '../database/interrupt.ts'
import { describeEngines, ENGINES, POSTGRES, SQLITE } from '../engines.ts'
import { admitGuess } from '../ledger/commit-parts.ts'
import { toGuess } from '../ledger/guess.ts'
import { startChild } from './start-child.ts'

const closeAll = (stores: readonly Store[]) => Promise.all(stores.map((store) => store.close()))

const listTables = (database: Database) =>
  database
    .prepare(
      database.dialect === 'sqlite'
        ? 'SELECT name FROM sqlite_schema'
        : "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace",
    )
    .all()

const readVersion = async ({ database }: Store) =>
  Number((await database.prepare('SELECT version FROM schema_state').get())?.version)

describeEngines(ENGINES, (engine) => {
  describe('two nodes on one database', () => {
    let stores: Store[]
    beforeAll(async () => {
      const { open } = await engine.createEmptyPlace()
      stores = await Promise.all([open(), open()])
    })
    afterAll(() => closeAll(stores))

    it('count failed matches exactly', async () => {
      const subject = randomBytes(32)
      const fail = (keyId: string) => (_: unknown, index: number) =>
        admitGuess(stores[index % 2] as Store, toGuess({ subject, keyId: keyId || String(index) }))
      const byKey = await Promise.all(Array.from({ length: 100 }, fail('one')))
      expect(byKey.filter((answer) => answer === 'admitted')).toHaveLength(5)
      const byAll = await Promise.all(Array.from({ length: 100 }, fail('')))
      expect(byAll.filter((answer) => answer === 'admitted')).toHaveLength(15)
    })

    it('admit subjects exactly up to the limit', async () => {
      const subjects = Array.from({ length: 200 }, () => randomBytes(32))
      const answers = await Promise.all(
        subjects.map((subject, index) =>
          admitGuess(stores[index % 2] as Store, toGuess({ keyId: 'k', subject, maxPeople: 50 })),
        ),
      )
      expect(answers.filter((answer) => answer === 'admitted')).toHaveLength(50)
    })

    it('see the writes of the other', async () => {
      const [one, other] = stores as [Store, Store]
      await one.meta.set({ root_fingerprint: 'a' })
      expect(await other.meta.read()).toEqual({ root_fingerprint: 'a' })
    })
  })
})

describeEngines([SQLITE, POSTGRES], (engine) => {
  it('counts exactly across processes', async () => {
    const { options, open } = await engine.createEmptyPlace()
    const subject = randomBytes(32).toString('hex')
    const children = Array.from({ length: 3 }, (_, index) =>
      startChild({ do: 'fail', options, subject, keyId: `key ${index % 2}`, times: 20 }),
    )
    for (const { read } of children) expect(await read()).toBe('ready')
    for (const { child } of children) child.stdin.write('go\n')
    const counted = (await Promise.all(children.map(({ read }) => read()))) as number[]
    expect(counted.reduce((sum, count) => sum + count)).toBe(10)
    const store = await open()
    const guess = toGuess({ subject: Buffer.from(subject, 'hex'), keyId: 'key 0' })
    expect(await admitGuess(store, guess)).toBe('too_many_attempts')
    await store.close()
  })

  describe('the migration', () => {
    it('is done once when ten nodes start at once', async () => {
      const { open } = await engine.createEmptyPlace()
      const stores = await Promise.all(Array.from({ length: 10 }, open))
      for (const store of stores) await store.meta.set({ root_fingerprint: 'a' })
      const [store] = stores as [Store]
      expect(await store.database.prepare('SELECT version FROM schema_state').all()).toEqual([
        { version: SCHEMA_VERSION },
      ])
      await closeAll(stores)
    })

    it('is done once when processes start at once', async () => {
      const { options, open } = await engine.createEmptyPlace()
      const children = Array.from({ length: 4 }, () => startChild({ do: 'open', options }))
      const lines = await Promise.all(children.map(({ read }) => read()))
      expect(lines).toEqual(children.map(() => 'opened'))
      const store = await open()
      expect(await readVersion(store)).toBe(SCHEMA_VERSION)
      await store.close()
    })

    it('is rolled back completely wherever it fails', async () => {
      const { options, open } = await engine.createEmptyPlace()
      const database = await openDatabase(options)
      const fail = async () => {
        throw new Error('failed on purpose')
      }
      let steps = 0
      // Every seventh: each run repeats all statements before, so the time grows with the square of their number.
      for (let done = false; !done; steps += 7) {
        done = await migrate(interrupt(database, steps, fail)).then(
          () => true,
          () => false,
        )
        expect((await listTables(database)).length > 0).toBe(done)
      }
      expect(steps).toBeGreaterThan(20)
      await database.close()
      const store = await open()
      expect(await readVersion(store)).toBe(SCHEMA_VERSION)
      await store.close()
    })

    it('is done by the next node after kill -9 in the middle of it', async () => {
      const { options, open } = await engine.createEmptyPlace()
      const { child, read, closed } = startChild({ do: 'hang in migration', options, after: 12 })
      expect(await read()).toBe('inside')
      let opened = false
      const opening = open().then((store) => {
        opened = true
        return store
      })
      await (await engine.createEmptyPlace()).open().then((other) => other.close())
      expect(opened).toBe(false)
      child.kill('SIGKILL')
      await closed
      const store = await opening
      expect(await readVersion(store)).toBe(SCHEMA_VERSION)
      await store.close()
    })

    it('refuses a database from before 0.3.0', async () => {
      const { options, open } = await engine.createEmptyPlace()
      const database = await openDatabase(options)
      await database.prepare('CREATE TABLE schema_version (id BIGINT PRIMARY KEY)').run()
      await database.close()
      await expect(open()).rejects.toMatchObject({
        name: 'UserError',
        message: expect.stringMatching(/^The database was made by a Tabbat before 0\.3\.0/),
      })
    })

    it('refuses a schema that is newer than the program', async () => {
      const { open } = await engine.createEmptyPlace()
      const store = await open()
      await store.database.prepare('UPDATE schema_state SET version = 999').run()
      await store.close()
      await expect(open()).rejects.toMatchObject({
        name: 'UserError',
        message: expect.stringMatching(/^The database was made by a newer Tabbat .*Update Tabbat\.$/),
      })
    })
  })
})
