import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { connect, createServer, type Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { inspect } from 'node:util'
import { types } from 'pg'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { openStore } from '../../src/context/store.ts'
import { openPostgres } from '../../src/database/postgres.ts'
import { createCertificate, writeCertificate } from '../certificate.ts'
import { newFolder } from '../engines.ts'
import { admitGuess } from '../ledger/commit-parts.ts'
import { toGuess } from '../ledger/guess.ts'
import { execute, GUARDED_ROLE, hasOwnPostgres, type Postgres, startOwnPostgres } from '../postgres.ts'

const PASSWORD = 'p4ss-canary'

const open = (databaseUrl: string, startWaitMs = 0) =>
  openStore({ dataDir: newFolder(), databaseUrl, startWaitMs, writerThread: true })

const change = (url: string, parts: Partial<URL>) => Object.assign(new URL(url), parts).href

/** A separate server, because these tests crash and restart it. */
describe.skipIf(!hasOwnPostgres())('PostgreSQL', () => {
  let server: Postgres
  beforeAll(async () => {
    server = await startOwnPostgres()
    await execute(
      server.url,
      `CREATE ROLE ${GUARDED_ROLE} LOGIN PASSWORD '${PASSWORD}'`,
      'CREATE ROLE guest LOGIN',
    )
  })
  afterAll(() => server.stop())

  // First, because recovery after a crash reads every file.
  it('calls fail while the server is down, and nothing acknowledged is lost', async () => {
    const url = await server.createDatabase()
    const store = await open(url)
    await store.meta.set({ root_fingerprint: 'acknowledged' })
    const idle = store.database.transaction(async (tx) => {
      await tx.prepare("INSERT INTO imports VALUES ('never', 'b', 1)").run()
      await server.crash()
      await tx.prepare('SELECT 1').get()
    })
    await expect(idle).rejects.toThrow()
    await expect(store.keys.find('a')).rejects.toThrow()
    await expect(store.meta.set({ carried_keys: 'lost' })).rejects.toThrow()
    const opening = open(url, 30_000)
    await server.restart()
    await (await opening).close()
    expect(await store.meta.read()).toEqual({ root_fingerprint: 'acknowledged' })
    expect(await store.registry.importProgress('never')).toBeUndefined()
    await store.close()
  })

  describe('that cannot be used is refused with a reason, without the password', () => {
    const expectRefusal = async (url: string, message: RegExp, startWaitMs?: number) => {
      const error = await open(
        change(url, { password: new URL(url).password || PASSWORD }),
        startWaitMs,
      ).then(
        () => undefined,
        (reason: unknown) => reason,
      )
      expect(error).toMatchObject({ name: 'UserError', message: expect.stringMatching(message) })
      expect(inspect(error)).not.toContain(PASSWORD)
    }
    const AT = 'PostgreSQL at 127\\.0\\.0\\.1:\\d+'

    it('when there is no listener, after a wait', async () => {
      const unused = createServer().listen(0, '127.0.0.1')
      await once(unused, 'listening')
      const { port } = unused.address() as AddressInfo
      unused.close()
      const begun = performance.now()
      const message = new RegExp(
        `^${AT} cannot be reached \\(ECONNREFUSED\\)\\. Start it, or correct TABBAT_DATABASE_URL\\.$`,
      )
      await expectRefusal(change(server.url, { port: String(port) }), message, 600)
      expect(performance.now() - begun).toBeGreaterThan(250)
    })

    it('when it does not answer', async () => {
      const silent = createServer(() => {}).listen(0, '127.0.0.1')
      await once(silent, 'listening')
      const url = change(server.url, { port: String((silent.address() as AddressInfo).port) })
      await expect(openPostgres(url, { startWaitMs: 0, answerTimeoutMs: 50 })).rejects.toThrow(
        new RegExp(`^${AT} cannot be reached \\(no answer\\)\\.`),
      )
      silent.close()
    })

    it('when the password is wrong or missing', async () => {
      const message = new RegExp(`^${AT} refused the user or password\\. Correct TABBAT_DATABASE_URL\\.$`)
      await expectRefusal(change(server.url, { username: GUARDED_ROLE, password: `${PASSWORD}!` }), message)
      await expect(open(change(server.url, { username: GUARDED_ROLE }))).rejects.toThrow(message)
    })

    it('when there is no such user or database', async () => {
      await expectRefusal(change(server.url, { username: 'stranger' }), new RegExp(`^${AT} refused the user`))
      await expectRefusal(
        change(server.url, { pathname: 'nowhere' }),
        new RegExp(`^${AT} has no database nowhere\\. Create it, or correct TABBAT_DATABASE_URL\\.$`),
      )
    })

    it('when the user may not create tables', async () => {
      const url = await server.createDatabase()
      await expectRefusal(
        change(url, { username: 'guest' }),
        new RegExp(`^${AT} does not let this user create tables in \\w+\\. Make the user the owner`),
      )
    })

    it('when it is read-only', async () => {
      const url = await server.createDatabase()
      await execute(
        url,
        `ALTER DATABASE ${new URL(url).pathname.slice(1)} SET default_transaction_read_only = on`,
      )
      await expectRefusal(url, new RegExp(`^${AT} is read-only\\. Give the address of the primary`))
    })

    it('when it contains tables of another program', async () => {
      const url = await server.createDatabase()
      await execute(url, 'CREATE TABLE meta (id int)')
      await expectRefusal(url, /^The database holds tables of another program\. Give Tabbat one of its own/)
      await execute(url, 'CREATE TABLE schema_state (other text)')
      await expectRefusal(url, new RegExp(`^${AT} has tables of another program in \\w+\\.`))
    })

    it('when TLS is required and not offered, or the certificate is missing', async () => {
      const message = (why: string) => new RegExp(`^${AT} cannot be reached over TLS \\(${why}\\)\\.`)
      await expectRefusal(`${server.url}?sslmode=verify-full`, message('not offered'), 60_000)
      await expectRefusal(`${server.url}?sslmode=verify-full&sslrootcert=/nowhere.pem`, message('ENOENT'))
    })

    it.each([
      ['is of another authority', 'localhost', 'SELF_SIGNED_CERT'],
      ['names another server', 'elsewhere.example.com', 'ALTNAME'],
    ])('when its certificate %s: it is told nothing', async (_what, name, code) => {
      const [own, trusted] = [createCertificate({ name }), createCertificate()]
      const told: Buffer[] = []
      const middle = createServer((socket) => {
        socket
          .on('error', () => {})
          .once('data', () => {
            socket.write('S')
            const secure = new TLSSocket(socket, { isServer: true, cert: own.cert, key: own.key })
            secure.on('error', () => {}).on('data', (bytes) => told.push(bytes))
          })
      }).listen(0, 'localhost')
      await once(middle, 'listening')
      const { port } = middle.address() as AddressInfo
      const { TABBAT_TLS_CERT: ca } = writeCertificate(code === 'ALTNAME' ? own : trusted)
      const url = `postgres://ada@localhost:${port}/tabbat?sslmode=verify-full&sslrootcert=${ca}`
      await expectRefusal(url, new RegExp(`at localhost:${port} cannot be reached over TLS \\(\\w*${code}`))
      expect(Buffer.concat(told).toString()).toBe('')
      middle.close()
    })

    it('when the address is invalid', async () => {
      await expectRefusal(
        server.url.replace('postgres@', `postgres:${PASSWORD}%ff@`),
        /has an invalid address\. Correct TABBAT_DATABASE_URL/,
      )
    })
  })

  it('commits durably whatever the settings of the server, and does not change them for others', async () => {
    const url = await server.createDatabase()
    const name = new URL(url).pathname.slice(1)
    await execute(url, `ALTER DATABASE ${name} SET synchronous_commit = off`)
    const store = await open(url)
    const show = async (setting: string) =>
      Object.values((await store.database.prepare(`SHOW ${setting}`).get()) ?? {})[0]
    expect(await show('synchronous_commit')).toBe('on')
    expect(await show('statement_timeout')).toBe('2763ms')
    expect(await show('idle_in_transaction_session_timeout')).toBe('1min')
    expect(types.getTypeParser(20)('7')).toBe('7')
    await store.close()
  })

  it('counts exactly where transactions are stricter by default', async () => {
    const url = await server.createDatabase()
    const name = new URL(url).pathname.slice(1)
    await execute(url, `ALTER DATABASE ${name} SET default_transaction_isolation = 'serializable'`)
    const store = await open(url)
    const guess = { subject: Buffer.alloc(32), keyId: 'k' }
    const answers = await Promise.all(Array.from({ length: 50 }, () => admitGuess(store, toGuess(guess))))
    expect(answers.filter((answer) => answer === 'admitted')).toHaveLength(5)
    await store.close()
  })

  it('keeps working while a newer node adds a column', async () => {
    const url = await server.createDatabase()
    const store = await open(url)
    expect(await store.keys.list()).toEqual([])
    await execute(url, 'ALTER TABLE api_keys ADD COLUMN tomorrow TEXT')
    expect(await store.keys.list()).toEqual([])
    await store.close()
  })

  describe('a transaction', () => {
    it('is rolled back when an error inside it was caught', async () => {
      const { database, ...store } = await open(await server.createDatabase())
      const insert = "INSERT INTO imports VALUES ('a', 'b', 1)"
      const overlooking = database.transaction(async (tx) => {
        await tx.prepare(insert).run()
        await tx
          .prepare(insert)
          .run()
          .catch(() => {})
      })
      await expect(overlooking).rejects.toThrow('rolled back')
      expect(await store.registry.importProgress('a')).toBeUndefined()
      await store.close()
    })

    it('can run concurrent queries, and keeps the connection when one of them fails', async () => {
      const database = await openPostgres(await server.createDatabase())
      const numbers = await database.transaction((tx) =>
        Promise.all([1, 2, 3].map((number) => tx.prepare('SELECT $1::bigint AS n').get(number))),
      )
      expect(numbers).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }])
      const pid = 'SELECT pg_backend_pid() AS pid'
      const before = await database.prepare(pid).get()
      const failing = database.transaction((tx) =>
        Promise.all(['SELECT 1', 'SELECT 1/0', 'SELECT 2'].map((sql) => tx.prepare(sql).get())),
      )
      await expect(failing).rejects.toMatchObject({ code: '22012' })
      expect(await database.prepare(pid).get()).toEqual(before)
      await database.close()
    })

    it('ends a statement that takes too long, unless it is patient', async () => {
      const database = await openPostgres(await server.createDatabase(), { statementTimeoutMs: 1000 })
      const sleep = 'SELECT pg_sleep(60)'
      await expect(database.prepare(sleep).get()).rejects.toMatchObject({ code: '57014' })
      const impatient = database.transaction((tx) => tx.prepare(sleep).get())
      await expect(impatient).rejects.toMatchObject({ code: '57014' })
      await database.transaction((tx) => tx.prepare('SELECT pg_sleep(1.1)').get(), { patient: true })
      await database.close()
    })
  })

  it('fails calls while it does not answer, and recovers', async () => {
    const { url, pause, resume, close } = await openProxy(await server.createDatabase())
    const database = await openPostgres(url, { statementTimeoutMs: 1000, answerTimeoutMs: 1000 })
    const query = () => database.prepare('SELECT 1 AS one').get()
    // The limits are short for a busy machine: it may need more than one call.
    const recovers = () =>
      vi.waitFor(async () => expect(await query()).toEqual({ one: 1 }), { timeout: 60_000 })
    await recovers()
    pause()
    await expect(query()).rejects.toThrow()
    await expect(query()).rejects.toThrow()
    resume()
    await recovers()
    const hanging = database.transaction(async (tx) => {
      pause()
      return tx.prepare('SELECT 1 AS one').get()
    })
    await expect(hanging).rejects.toThrow()
    resume()
    await recovers()
    await database.close()
    await close()
  })
})

/** A proxy to the server that can drop all data. */
async function openProxy(url: string) {
  const { port } = new URL(url)
  const sockets = new Set<Socket>()
  let silent = false
  const proxy = createServer((near) => {
    const far = connect(Number(port), '127.0.0.1')
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from)
      from.on('data', (bytes) => silent || to.write(bytes))
      from.on('close', () => to.destroy())
      from.on('error', () => {})
    }
  }).listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  return {
    url: change(url, { port: String((proxy.address() as AddressInfo).port) }),
    pause: () => {
      silent = true
    },
    resume: () => {
      silent = false
    },
    close: async () => {
      for (const socket of sockets) socket.destroy()
      proxy.close()
    },
  }
}
