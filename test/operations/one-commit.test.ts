import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { loadConfig } from '../../src/context/config.ts'
import type { Context } from '../../src/context/context.ts'
import { createKey } from '../../src/keys/manage.ts'
import { erasePerson } from '../../src/people/erase-person.ts'
import { sealEntry } from '../../src/registry/sealed-entry.ts'
import { createApiServer } from '../../src/server/api-server.ts'
import { createContext } from '../../src/server/create-context.ts'
import { toNinRecord } from '../../src/sources/sandbox/nin-record.ts'
import { SourceError } from '../../src/sources/source.ts'
import { bearer, PHONE } from '../app.ts'
import { type InjectResponse, inject } from '../inject.ts'
import { createTestDatabase, hasPostgres } from '../postgres.ts'

/** Verifications by the registry alone: the limits, the stored response and the audit rows are one commit. */
const engines = hasPostgres() ? ['SQLite', 'PostgreSQL'] : ['SQLite']

describe.each(engines)('a verification by a source inside the process, on %s', (engine) => {
  let nodes: readonly Context[]
  let key: string
  let made = 0
  const folders: string[] = []
  const numbers = Array.from({ length: 60 }, (_each, index) => String(62_000_000_000 + index))
  const newNumber = () => numbers[made++] as string

  beforeAll(async () => {
    const rootKey = randomBytes(32).toString('base64')
    const url = engine === 'PostgreSQL' ? await createTestDatabase() : undefined
    const open = async (number: number) => {
      // In SQLite, two workers of one server share the folder; in PostgreSQL, each node has its own.
      if (url !== undefined || folders.length === 0) folders.push(mkdtempSync(join(tmpdir(), 'tabbat-test-')))
      const settings = {
        TABBAT_DATA_DIR: folders.at(-1) ?? '',
        TABBAT_LOG_LEVEL: 'silent',
        TABBAT_ROOT_KEY: rootKey,
        ...(url === undefined ? {} : { TABBAT_DATABASE_URL: url }),
      }
      return createContext(loadConfig(settings, ''), undefined, number)
    }
    nodes = [await open(1), await open(2)]
    key = await newKey()
    const { store, keyring } = first()
    const records = numbers.map((nin) =>
      sealEntry(keyring(), 'nin', nin, { record: toNinRecord(nin, PHONE.slice(1)), mediaId: null }),
    )
    await store.registry.save({ records, media: [], at: Date.now() })
  })
  afterAll(async () => {
    for (const node of nodes) await node.close()
    for (const folder of folders) rmSync(folder, { recursive: true })
  })

  const first = () => nodes[0] as Context
  const newKey = async (subjectsPerDay?: number) => {
    const options = { name: 'test', mode: 'live', scopes: ['kyc:nin'], expiresAt: undefined } as const
    const node = first()
    const wishes = { ...options, allowedIps: undefined, ...(subjectsPerDay ? { subjectsPerDay } : {}) }
    return (await createKey({ ...node, keyring: node.keyring() }, wishes)).text
  }
  type Extra = { readonly on?: Context; readonly as?: string; readonly header?: string }
  const verify = (nin: string, phone = PHONE, { on = first(), as = key, header }: Extra = {}) =>
    inject(createApiServer(on), {
      method: 'POST',
      url: '/api/v2/kyc/verify-nin',
      headers: { ...bearer(as), ...(header === undefined ? {} : { 'idempotency-key': header }) },
      payload: { nin, phone },
    })
  const codeOf = (answer: InjectResponse) => (answer.statusCode === 200 ? 'verified' : answer.json().code)
  const toWrong = (index: number) => `0803${String(2_000_000 + index)}`
  const subjectOf = (nin: string) => first().toSubjectHash('nin', nin)
  const count = async (table: string, nin: string) => {
    const sql = `SELECT COUNT(*) AS rows FROM ${table} WHERE subject = $1`
    const row = await first()
      .store.database.prepare(sql)
      .get(Buffer.from(subjectOf(nin), 'hex'))
    return Number(row?.rows)
  }
  const countAll = async (nin: string) => ({
    failures: await count('attempts', nin),
    people: await count('key_subjects', nin),
    answers: await count('idempotency', nin),
    rows: (await first().store.audit.bySubject(subjectOf(nin))).length,
  })
  const NOTHING = { failures: 0, people: 0, answers: 0, rows: 0 }
  const run = (sql: string) => first().store.database.prepare(sql).run()
  /** The same node, which does something between reading and recording. */
  const withPause = (node: Context, work: () => Promise<unknown>): Context => {
    const find: typeof node.local.lookups.find = async (question) => {
      const found = await node.local.lookups.find(question)
      await work()
      return found
    }
    return { ...node, local: { ...node.local, lookups: { find } } }
  }

  /** The same node, whose registry fails. */
  const withFailure = (node: Context): Context => {
    const findNin = () => {
      throw new SourceError('registry', 'unreachable')
    }
    const failing = node.sources.live.nin.map(({ source }) => ({
      source: { ...source, ...(source.local && { local: { ...source.local, findNin } }) },
    }))
    return { ...node, sources: { ...node.sources, live: { ...node.sources.live, nin: failing } } }
  }

  it('leaves no failure behind when the guess is right, and one when it is wrong', async () => {
    const nin = newNumber()
    expect(codeOf(await verify(nin))).toBe('verified')
    expect(await countAll(nin)).toMatchObject({ failures: 0, people: 1, answers: 0 })
    expect(codeOf(await verify(nin, toWrong(0)))).toBe('not_verified')
    expect(await countAll(nin)).toMatchObject({ failures: 1, people: 1, answers: 0 })
  })

  it('lets no more of many guesses at once through than one by one, over two nodes', async () => {
    const nin = newNumber()
    const guesses = Array.from({ length: 240 }, (_each, index) => (index % 8 === 7 ? PHONE : toWrong(index)))
    const answers = await Promise.all(
      guesses.map((phone, index) => verify(nin, phone, { on: nodes[index % 2] as Context })),
    )
    const codes = answers.map(codeOf)
    expect(codes.filter((code) => code === 'not_verified')).toHaveLength(5)
    expect(codes.filter((code) => !['verified', 'not_verified', 'too_many_attempts'].includes(code))).toEqual(
      [],
    )
    expect(codeOf(await verify(nin))).toBe('too_many_attempts')
    expect(await count('attempts', nin)).toBe(5)
  })

  it('counts twenty failures by all keys, over two nodes', async () => {
    const nin = newNumber()
    const keys = await Promise.all(Array.from({ length: 6 }, () => newKey()))
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_each, index) =>
        verify(nin, toWrong(index), { as: keys[index % 6] ?? '', on: nodes[index % 2] as Context }),
      ),
    )
    expect(answers.map(codeOf).filter((code) => code === 'not_verified')).toHaveLength(20)
    expect(codeOf(await verify(nin, PHONE, { as: await newKey() }))).toBe('too_many_attempts')
  })

  it('admits a key to exactly its number of people a day, over two nodes', async () => {
    const as = await newKey(10)
    const people = numbers.slice(20, 50)
    const answers = await Promise.all(
      people.map((nin, index) => verify(nin, PHONE, { as, on: nodes[index % 2] as Context })),
    )
    const codes = answers.map(codeOf)
    expect(codes.filter((code) => code === 'verified')).toHaveLength(10)
    expect(codes.filter((code) => code === 'quota_exceeded')).toHaveLength(20)
    const known = people.filter((_nin, index) => codes[index] === 'verified')
    for (const nin of known) expect(codeOf(await verify(nin, PHONE, { as }))).toBe('verified')
    const refused = people.find((_nin, index) => codes[index] === 'quota_exceeded') ?? ''
    // Nothing of a refused verification is written, a wrong guess included.
    expect(codeOf(await verify(refused, toWrong(0), { as, header: 'refused' }))).toBe('quota_exceeded')
    expect(await countAll(refused)).toEqual(NOTHING)
  })

  it('counts identical wrong guesses at the same time once', async () => {
    const nin = newNumber()
    const { promise: areAllThere, resolve: letGo } = Promise.withResolvers<void>()
    let there = 0
    const on = withPause(first(), () => {
      there += 1
      if (there === 30) letGo()
      return areAllThere
    })
    const answers = await Promise.all(Array.from({ length: 30 }, () => verify(nin, toWrong(0), { on })))
    expect(new Set(answers.map(codeOf))).toEqual(new Set(['not_verified']))
    expect(await count('attempts', nin)).toBe(1)
  })

  it('counts identical wrong guesses once also when they are recorded one after the other', async () => {
    const nin = newNumber()
    const { promise: isRecorded, resolve: letGo } = Promise.withResolvers<void>()
    const late = verify(nin, toWrong(0), { on: withPause(first(), () => isRecorded) })
    expect(codeOf(await verify(nin, toWrong(0)))).toBe('not_verified')
    letGo()
    expect(codeOf(await late)).toBe('not_verified')
    expect(await count('attempts', nin)).toBe(1)
    expect(codeOf(await verify(nin, toWrong(0)))).toBe('not_verified')
    expect(await count('attempts', nin)).toBe(2)
  })

  it('writes nothing before its commit: a crash after reading leaves nothing', async () => {
    const nin = newNumber()
    const { promise: isRead, resolve: read } = Promise.withResolvers<void>()
    const { promise: isOver, resolve: letGo } = Promise.withResolvers<void>()
    const pause = () => {
      read()
      return isOver
    }
    const answer = verify(nin, toWrong(0), { on: withPause(first(), pause), header: 'crash' })
    await isRead
    expect(await countAll(nin)).toEqual(NOTHING)
    letGo()
    expect(codeOf(await answer)).toBe('not_verified')
    expect(await countAll(nin)).toMatchObject({ failures: 1, people: 1, answers: 1 })
  })

  it('discloses and counts nothing while the audit log cannot be written', async () => {
    const nin = newNumber()
    await run(
      engine === 'SQLite'
        ? "CREATE TRIGGER blocked BEFORE INSERT ON audit BEGIN SELECT RAISE(ABORT, 'blocked'); END"
        : 'CREATE TRIGGER blocked BEFORE INSERT ON audit FOR EACH ROW EXECUTE FUNCTION refuse_change()',
    )
    const answers = await Promise.all([verify(nin, PHONE, { header: 'no' }), verify(nin, toWrong(0))])
    await run(engine === 'SQLite' ? 'DROP TRIGGER blocked' : 'DROP TRIGGER blocked ON audit')
    for (const answer of answers) {
      expect([answer.statusCode, codeOf(answer)]).toEqual([503, 'audit_unavailable'])
      expect(answer.body).not.toContain(toNinRecord(nin, PHONE.slice(1)).personal_info.last_name)
    }
    expect(await countAll(nin)).toEqual(NOTHING)
    await expect.poll(() => first().audit.check()).toBe(true)
    expect(codeOf(await verify(nin, PHONE, { header: 'no' }))).toBe('verified')
  })

  describe('with an Idempotency-Key', () => {
    it('has one response when two nodes use the key at the same time', async () => {
      const nin = newNumber()
      const answers = await Promise.all(
        Array.from({ length: 40 }, (_each, index) =>
          verify(nin, PHONE, { header: 'both', on: nodes[index % 2] as Context }),
        ),
      )
      const bodies = answers.filter(({ statusCode }) => statusCode === 200).map(({ body }) => body)
      expect(new Set(bodies).size).toBe(1)
      for (const { statusCode } of answers) expect([200, 409]).toContain(statusCode)
      const again = await verify(nin, PHONE, { header: 'both', on: nodes[1] as Context })
      expect([again.headers['idempotent-replayed'], again.body]).toEqual(['true', bodies[0]])
      expect(await count('idempotency', nin)).toBe(1)
      const rows = await first().store.audit.bySubject(subjectOf(nin))
      expect(rows.filter(({ phase }) => phase === 'outcome')).toHaveLength(1)
      expect(new Set(rows.map(({ request_reference }) => request_reference)).size).toBe(1)
    })

    it('replays the response of the node that was faster', async () => {
      const nin = newNumber()
      let winner: InjectResponse | undefined
      const other = async () => {
        winner ??= await verify(nin, PHONE, { header: 'race', on: nodes[1] as Context })
      }
      const loser = await verify(nin, PHONE, { header: 'race', on: withPause(first(), other) })
      expect([loser.statusCode, loser.headers['idempotent-replayed']]).toEqual([200, 'true'])
      expect(loser.body).toBe(winner?.body)
      expect(await count('idempotency', nin)).toBe(1)
    })

    it('is refused when the faster node stored the response to another request', async () => {
      const nin = newNumber()
      let isFirst = true
      const other = async () => {
        if (isFirst) await verify(nin, toWrong(0), { header: 'differs', on: nodes[1] as Context })
        isFirst = false
      }
      const loser = await verify(nin, PHONE, { header: 'differs', on: withPause(first(), other) })
      expect(codeOf(loser)).toBe('idempotency_key_reused')
    })

    it('answers 409 or 422 while the first request runs in this process', async () => {
      const nin = newNumber()
      const { promise: isRead, resolve: read } = Promise.withResolvers<void>()
      const { promise: isOver, resolve: letGo } = Promise.withResolvers<void>()
      const pause = () => {
        read()
        return isOver
      }
      const running = verify(nin, PHONE, { header: 'runs', on: withPause(first(), pause) })
      await isRead
      expect(codeOf(await verify(nin, PHONE, { header: 'runs' }))).toBe('idempotency_in_progress')
      expect(codeOf(await verify(nin, toWrong(0), { header: 'runs' }))).toBe('idempotency_key_reused')
      letGo()
      const answer = await running
      const replayed = await verify(nin, PHONE, { header: 'runs' })
      expect([replayed.body, replayed.headers['idempotent-replayed']]).toEqual([answer.body, 'true'])
    })

    it('waits for a claim of another process, and takes it over when its lease has ended', async () => {
      const nin = newNumber()
      await verify(nin, PHONE, { header: 'left' })
      const changed = `UPDATE idempotency SET sealed = NULL, owner = 'gone', paid_calls = 1, lease_until =`
      await run(`${changed} ${Date.now() + 20_000}`)
      expect(codeOf(await verify(nin, PHONE, { header: 'left' }))).toBe('idempotency_in_progress')
      await run(`${changed} 1`)
      const taken = await verify(nin, PHONE, { header: 'left' })
      expect([taken.statusCode, taken.headers['idempotent-replayed']]).toEqual([200, undefined])
      expect((await verify(nin, PHONE, { header: 'left' })).body).toBe(taken.body)
      const row = await first()
        .store.database.prepare('SELECT paid_calls FROM idempotency WHERE subject = $1')
        .get(Buffer.from(subjectOf(nin), 'hex'))
      expect(Number(row?.paid_calls)).toBe(1)
    })

    it('stores no response about a person who was erased meanwhile', async () => {
      const nin = newNumber()
      const node = first()
      const erase = () => erasePerson({ ...node, keyring: node.keyring() }, 'nin', nin)
      const answer = await verify(nin, PHONE, { header: 'erased', on: withPause(node, erase) })
      expect(codeOf(answer)).toBe('not_verified')
      const replayed = await verify(nin, PHONE, { header: 'erased' })
      expect(replayed.body).toBe(answer.body)
    })

    it('replays what another node stored, also when the source fails now or the limit is reached', async () => {
      const nin = newNumber()
      const stored = await verify(nin, PHONE, { header: 'stored-there' })
      const other = nodes[1] as Context
      expect(codeOf(await verify(nin, PHONE, { header: 'new', on: withFailure(other) }))).toBe(
        'source_unavailable',
      )
      const replayed = await verify(nin, PHONE, { header: 'stored-there', on: withFailure(other) })
      expect([replayed.body, replayed.headers['idempotent-replayed']]).toEqual([stored.body, 'true'])
      for (let index = 0; index < 5; index++) await verify(nin, toWrong(index))
      const beyond = await verify(nin, PHONE, { header: 'stored-there', on: other })
      expect([beyond.body, beyond.headers['idempotent-replayed']]).toEqual([stored.body, 'true'])
      expect(codeOf(await verify(nin, toWrong(9), { header: 'stored-there', on: other }))).toBe(
        'idempotency_key_reused',
      )
    })

    it('replays beyond the guess limit, which a replay does not touch', async () => {
      const nin = newNumber()
      const right = await verify(nin, PHONE, { header: 'kept' })
      for (let index = 0; index < 5; index++) await verify(nin, toWrong(index))
      expect(codeOf(await verify(nin))).toBe('too_many_attempts')
      expect((await verify(nin, PHONE, { header: 'kept' })).body).toBe(right.body)
    })
  })
})
