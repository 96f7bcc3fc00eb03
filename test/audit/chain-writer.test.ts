import { createSecretKey } from 'node:crypto'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { listAcknowledged, readAcknowledged } from '../../src/audit/acknowledged-file.ts'
import type { AuditTable } from '../../src/audit/audit-table.ts'
import {
  type ChainWriter,
  type ChainWriterOptions,
  openChainWriter,
  type Pending,
} from '../../src/audit/chain-writer.ts'
import type { Loss } from '../../src/audit/loss-table.ts'
import { createRecentRows } from '../../src/audit/recent-rows.ts'
import { type AuditEntry, toPolicyId } from '../../src/audit/row.ts'
import { createSigner } from '../../src/audit/signing.ts'
import type { Store } from '../../src/context/store.ts'
import { MINUTE_MS } from '../../src/contract/time.ts'
import { endOf, toMonth } from '../../src/ledger/audit-months.ts'
import type { Appended } from '../../src/ledger/commit.ts'
import { SQLITE } from '../engines.ts'
import { append } from './old-log.ts'

const OWNER = { node: 'aaaa0001', owner: 'me' }
const signer = createSigner(createSecretKey(Buffer.alloc(32, 42)))

let store: Store
let dataDir: string
/** What the writer sees of the table; tests replace parts of it. */
let table: AuditTable
let month: string | undefined
beforeEach(async () => {
  const place = await SQLITE.createPlace()
  dataDir = place.options.dataDir
  store = await place.open()
  onTestFinished(() => store.close())
  // The month after this one: it does not end while a test runs.
  month = toMonth(Date.now(), 1)
  table = { ...store.audit, openMonth: async () => month }
})

const open = (more: Partial<ChainWriterOptions> = {}): Promise<ChainWriter> =>
  openChainWriter({ table, signer, dataDir, ...more }, OWNER)

const toEntry = (name: string): AuditEntry => ({ phase: 'outcome', request_reference: `ver_${name}` })

/** A request and what became of it. */
function toPending(name: string, more: Partial<Omit<Pending, 'resolve' | 'reject'>> = {}) {
  const [resolve, reject] = [vi.fn<Pending['resolve']>(), vi.fn<Pending['reject']>()]
  return { entries: [toEntry(name)], ...more, resolve, reject } satisfies Pending
}

const write = (writer: ChainWriter, ...names: string[]) => writer.write(names.map((name) => toPending(name)))

/** Replaces one function of the table, for the next call. */
function once<K extends keyof AuditTable>(name: K, instead: AuditTable[K]): void {
  const own = table[name]
  table[name] = ((...args: never[]) => {
    table[name] = own
    return (instead as (...given: never[]) => unknown)(...args)
  }) as AuditTable[K]
}

const listRows = async () => {
  const rows = await store.database
    .prepare('SELECT chain, sequence, request_reference FROM audit ORDER BY chain, sequence')
    .all()
  return rows.map((row) => `${row.chain} ${row.sequence} ${row.request_reference}`)
}
const chainNames = async () => (await store.audit.chains()).map(({ chain, owner }) => [chain, owner])

/** As a standby that lagged, or an old copy of the file. */
function cutLog(chain: string, kept: number): void {
  const database = new DatabaseSync(join(dataDir, 'tabbat.db'))
  database.exec('DROP TRIGGER audit_no_delete')
  database.prepare('DELETE FROM audit WHERE chain = ? AND sequence > ?').run(chain, kept)
  database.close()
}

describe('a batch', () => {
  it('is written to one chain, in order, and every request is resolved', async () => {
    const writer = await open()
    const batch = [toPending('a'), toPending('b', { entries: [toEntry('b'), toEntry('c')] })]
    expect(await writer.write(batch)).toEqual({ rest: [], written: 3 })
    expect(await write(writer, 'd')).toEqual({ rest: [], written: 1 })
    const chain = `${month}-aaaa0001-1`
    expect(await listRows()).toEqual(
      [1, 2, 3, 4].map((number) => `${chain} ${number} ver_${'abcd'[number - 1]}`),
    )
    for (const { resolve, reject } of batch) {
      expect(resolve.mock.calls).toEqual([[]])
      expect(reject).not.toHaveBeenCalled()
    }
  })

  it('without rows leaves the end of the chain as it is', async () => {
    const writer = await open()
    await write(writer, 'a')
    expect(await writer.write([toPending('', { entries: [] })])).toEqual({ rest: [], written: 0 })
    await write(writer, 'b')
    expect(await listRows()).toHaveLength(2)
  })

  it('is not written if some of it is refused: those are told, the others returned', async () => {
    const writer = await open()
    const batch = ['a', 'b', 'c'].map((name) => toPending(name))
    const refused: Appended = { refused: [[1, 'blocked']] as never, late: [] }
    once('append', (async () => refused) as never)
    const { rest, written } = await writer.write(batch)
    expect([rest, written]).toEqual([[batch[0], batch[2]], 0])
    expect(batch[1]?.resolve.mock.calls).toEqual([['blocked']])
    for (const each of rest) expect((each as (typeof batch)[0]).resolve).not.toHaveBeenCalled()
    await writer.write(rest)
    expect((await listRows()).map((row) => row.split(' ')[2])).toEqual(['ver_a', 'ver_c'])
  })

  it('tells a request whose Idempotency-Key another one took that it is in progress', async () => {
    const writer = await open()
    const batch = ['a', 'b'].map((name) => toPending(name))
    once('append', (async (...args: Parameters<AuditTable['append']>) => {
      await store.audit.append(...args)
      return { refused: [], late: [1] }
    }) as never)
    await writer.write(batch)
    expect(batch[0]?.resolve).toHaveBeenCalledOnce()
    expect(batch[1]?.resolve).not.toHaveBeenCalled()
    expect(batch[1]?.reject.mock.calls).toMatchObject([[{ code: 'idempotency_in_progress' }]])
  })

  it('counts a wrong guess once it is written, and no other', async () => {
    const writer = await open()
    const guess = (isWrong: boolean) => ({
      subject: 'ab'.repeat(32),
      keyId: 'Ab12Cd34',
      isWrong,
      maxPeople: 100,
      attempt: { counted: false },
    })
    const [wrong, right] = [guess(true), guess(false)]
    await writer.write([
      toPending('a', { parts: { guess: wrong } }),
      toPending('b', { parts: { guess: right } }),
      toPending('c'),
    ])
    expect([wrong.attempt.counted, right.attempt.counted]).toEqual([true, false])
  })

  it('is not acknowledged if the log was closed meanwhile', async () => {
    const recent = createRecentRows()
    const writer = await open({ recent })
    const pending = toPending('a')
    const close = () => {
      throw new Error('closed')
    }
    await expect(writer.write([pending], close)).rejects.toThrow('closed')
    expect(pending.resolve).not.toHaveBeenCalled()
    expect(recent.end()).toBeUndefined()
  })

  it('is given to the index when it is written, until a failure', async () => {
    const recent = createRecentRows()
    const writer = await open({ recent })
    await write(writer, 'a', 'b')
    expect(recent.end()).toEqual({ chain: `${month}-aaaa0001-1`, sequence: 2 })
    writer.forget()
    expect(recent.end()).toBeUndefined()
  })
})

describe('the names of released fields', () => {
  const released = (fields: string) =>
    toPending('a', { entries: [{ ...toEntry('a'), fields_released: fields }] })

  it('are stored before the first row that refers to them, once', async () => {
    const steps: unknown[] = []
    const { insertPolicies, append: appendRows } = store.audit
    table.insertPolicies = async (policies) => {
      await insertPolicies(policies)
      steps.push(policies.map(({ fields }) => fields))
    }
    table.append = (...args) => {
      steps.push('rows')
      return appendRows(...args)
    }
    const writer = await open()
    await writer.write([released('nin'), released('nin,phone'), released('nin'), toPending('b')])
    await writer.write([released('nin,phone'), toPending('c')])
    await writer.write([released('bvn')])
    expect(steps).toEqual([['nin', 'nin,phone'], 'rows', 'rows', ['bvn'], 'rows'])
    const stored = await store.database.prepare('SELECT id, fields FROM field_policies ORDER BY fields').all()
    expect(stored).toMatchObject(
      ['bvn', 'nin', 'nin,phone'].map((fields) => ({ id: toPolicyId(fields), fields })),
    )
    writer.forget()
    await writer.write([released('nin')])
    expect(steps.slice(-2)).toEqual([['nin'], 'rows'])
  })

  it('are stored again if that failed', async () => {
    const writer = await open()
    once('insertPolicies', () => Promise.reject(new Error('the disk is full')))
    await expect(writer.write([released('nin')])).rejects.toThrow('the disk is full')
    expect(await listRows()).toEqual([])
    await writer.write([released('nin')])
    expect(await store.database.prepare('SELECT fields FROM field_policies').all()).toHaveLength(1)
  })
})

describe('a commit whose confirmation is lost', () => {
  const lost = () => Object.assign(new Error('Connection terminated unexpectedly'), { code: 'ECONNRESET' })
  const loseAnswer = (isExecuted: boolean, error: Error = lost()) =>
    once('append', async (...args) => {
      if (isExecuted) await store.audit.append(...args)
      throw error
    })

  it('is acknowledged if its last row is there; a stored response must be asked for again', async () => {
    const writer = await open()
    await write(writer, 'a')
    loseAnswer(true)
    const claim = { keyId: 'Ab12Cd34', operation: 'verify_nin', name: Buffer.from('n'), owner: 'o' }
    const completion = { claim, sealed: Buffer.from('x'), expiresAt: 1 }
    const batch = [toPending('b'), toPending('c', { parts: { completion } })]
    expect(await writer.write(batch)).toEqual({ rest: [], written: 2 })
    expect(batch[0]?.resolve).toHaveBeenCalledOnce()
    expect(batch[1]?.reject.mock.calls).toMatchObject([[{ code: 'idempotency_in_progress' }]])
    loseAnswer(true)
    expect(await write(writer, 'd')).toEqual({ rest: [], written: 1 })
    await write(writer, 'e')
    expect(await listRows()).toHaveLength(5)
  })

  it.each([
    ['it was not executed', false, lost()],
    ['the database refused it', true, new Error('CHECK constraint failed')],
    ['the server was silent', true, new Error('Query read timeout')],
  ])('fails if %s', async (_what, isExecuted, error) => {
    const writer = await open()
    await write(writer, 'a')
    loseAnswer(isExecuted, error)
    const pending = toPending('b')
    await expect(writer.write([pending])).rejects.toBe(error)
    expect(pending.resolve).not.toHaveBeenCalled()
  })

  it('fails if the log cannot be read, or has another row there', async () => {
    const writer = await open()
    for (const find of [
      () => Promise.reject(new Error('away')),
      async () => ({ sequence: 1, hash: Buffer.alloc(32) }),
    ]) {
      const error = lost()
      loseAnswer(false, error)
      once('find', find as never)
      await expect(write(writer, 'a')).rejects.toBe(error)
    }
  })
})

describe('after a failure', () => {
  it('it goes on after the last row that is there', async () => {
    const writer = await open()
    await write(writer, 'a')
    once('append', () => Promise.reject(new Error('the disk is full')))
    await expect(write(writer, 'b')).rejects.toThrow('the disk is full')
    // Another process of an earlier version, or a commit whose confirmation was lost.
    await append(store, `${month}-aaaa0001-1`, [toEntry('c')])
    writer.forget()
    await write(writer, 'd')
    expect((await listRows()).map((row) => row.slice(-5))).toEqual(['ver_a', 'ver_c', 'ver_d'])
  })

  it('it takes another chain if its own was taken', async () => {
    const writer = await open()
    await write(writer, 'a')
    const chain = `${month}-aaaa0001-1`
    await store.audit.release(chain, 'me', Date.now())
    await store.audit.claim(chain, null, 'other-host:1:a', Date.now())
    writer.forget()
    await write(writer, 'b')
    expect(await listRows()).toEqual([`${chain} 1 ver_a`, `${month}-aaaa0001-2 1 ver_b`])
  })

  it('it does not extend a log that lost acknowledged rows', async () => {
    const writer = await open()
    await write(writer, 'a', 'b')
    cutLog(`${month}-aaaa0001-1`, 1)
    writer.forget()
    await expect(write(writer, 'c')).rejects.toMatchObject({ name: 'RowsLost', code: 'DATABASE_LOST' })
    expect(await listRows()).toHaveLength(1)
  })

  it('it extends one that lost rows of which nobody was told', async () => {
    const writer = await open()
    await write(writer, 'a')
    await append(store, `${month}-aaaa0001-1`, [toEntry('b')])
    cutLog(`${month}-aaaa0001-1`, 1)
    writer.forget()
    await write(writer, 'c')
    expect(await listRows()).toHaveLength(2)
  })
})

describe('in a new month', () => {
  const setNow = (at: number) => {
    vi.useFakeTimers({ toFake: ['Date'] })
    onTestFinished(() => void vi.useRealTimers())
    vi.setSystemTime(at)
  }

  it('it begins another chain with the first row, and gives the last one up', async () => {
    const writer = await open()
    await write(writer, 'a')
    const first = month ?? ''
    month = toMonth(Date.now(), 2)
    await write(writer, 'b')
    setNow(endOf(first) - 1)
    await write(writer, 'c')
    setNow(endOf(first))
    await writer.sendHeartbeat()
    await write(writer, 'd')
    expect(await listRows()).toEqual([
      ...['a', 'b', 'c'].map((name, index) => `${first}-aaaa0001-1 ${index + 1} ver_${name}`),
      `${month}-aaaa0001-1 1 ver_d`,
    ])
    expect(await chainNames()).toEqual([
      [`${first}-aaaa0001-1`, null],
      [`${month}-aaaa0001-1`, 'me'],
    ])
  })

  it('it goes on with the last chain while the new month is not open, and asks once a minute', async () => {
    const writer = await open()
    await write(writer, 'a')
    const first = month ?? ''
    const openMonth = vi.fn(async () => first)
    table.openMonth = openMonth
    setNow(endOf(first))
    await write(writer, 'b')
    await write(writer, 'c')
    expect(openMonth).toHaveBeenCalledOnce()
    setNow(endOf(first) + MINUTE_MS)
    await write(writer, 'd')
    expect(openMonth).toHaveBeenCalledTimes(2)
    expect((await listRows()).map((row) => row.split(' ')[0])).toEqual(Array(4).fill(`${first}-aaaa0001-1`))
  })

  it('it begins another chain although it wrote nothing in the last one', async () => {
    const writer = await open()
    const first = month ?? ''
    month = toMonth(Date.now(), 2)
    setNow(endOf(first))
    await write(writer, 'a')
    expect(await listRows()).toEqual([`${month}-aaaa0001-1 1 ver_a`])
  })

  it('it goes on if the last chain cannot be given up', async () => {
    const writer = await open()
    await write(writer, 'a')
    setNow(endOf(month ?? ''))
    await writer.sendHeartbeat()
    month = toMonth(Date.now())
    once('release', () => Promise.reject(new Error('away')))
    await write(writer, 'b')
    expect(await listRows()).toHaveLength(2)
  })

  it('a chain without a month is left within a minute, when the month is open', async () => {
    month = undefined
    const writer = await open()
    await write(writer, 'a')
    month = toMonth(Date.now(), 1)
    await write(writer, 'b')
    setNow(Date.now() + MINUTE_MS)
    await write(writer, 'c')
    expect(await listRows()).toEqual([
      'aaaa0001-1 1 ver_a',
      'aaaa0001-1 2 ver_b',
      `${month}-aaaa0001-1 1 ver_c`,
    ])
  })
})

describe('the claim', () => {
  it('is renewed and given up', async () => {
    const writer = await open()
    await store.database.prepare('UPDATE audit_chains SET beat_at = 5').run()
    await writer.sendHeartbeat()
    const [chain] = await store.audit.chains()
    expect(chain?.beatAt).toBeGreaterThan(5)
    await writer.release()
    expect(await chainNames()).toEqual([[`${month}-aaaa0001-1`, null]])
  })
})

describe('with a database that may fail over', () => {
  const onLoss = vi.fn<(loss: Loss) => void>()
  beforeEach(() => void onLoss.mockReset())
  const toLosses = (isRecorded = false) => ({ losses: store.losses, isRecorded, by: 'test', onLoss })
  const LOST = () => ({ chain: `${month}-aaaa0001-1`, kept: 1, acknowledged: 3 })

  /** It has acknowledged three rows, and the database has one. */
  async function lose(isRecorded = false): Promise<ChainWriter> {
    const writer = await open({ losses: toLosses(isRecorded) })
    await write(writer, 'a', 'b', 'c')
    await writer.flush()
    cutLog(`${month}-aaaa0001-1`, 1)
    writer.forget()
    return writer
  }

  it('it keeps what was acknowledged', async () => {
    const writer = await open({ losses: toLosses() })
    await write(writer, 'a', 'b')
    expect(await listAcknowledged(dataDir)).toEqual([])
    await writer.flush()
    const rows = await readAcknowledged(dataDir, `${month}-aaaa0001-1`)
    expect(rows.map(({ reference }) => reference)).toEqual(['ver_a', 'ver_b'])
    expect(await writer.isComplete()).toBe(true)
  })

  it('it refuses to write after a loss, until an operator has accepted it', async () => {
    const writer = await lose()
    await expect(write(writer, 'd')).rejects.toMatchObject({ name: 'AcknowledgedRowsLost' })
    expect(onLoss.mock.calls).toMatchObject([[LOST()]])
    expect(await writer.isComplete()).toBe(false)
    const [loss] = await store.losses.list('open')
    await store.losses.accept(loss as Loss, Date.now())
    expect(await writer.isComplete()).toBe(true)
    await write(writer, 'd')
    // The shortened chain is left.
    expect(await listRows()).toEqual([`${month}-aaaa0001-1 1 ver_a`, `${month}-aaaa0001-2 1 ver_d`])
    expect(await listAcknowledged(dataDir)).toEqual([])
    await writer.flush()
    expect(await listAcknowledged(dataDir)).toEqual([`${month}-aaaa0001-2`])
  })

  it('it states the loss itself if it may', async () => {
    const writer = await lose(true)
    expect(await writer.isComplete()).toBe(true)
    expect(await store.losses.list('open')).toEqual([])
    expect(await store.losses.list('accepted')).toMatchObject([LOST()])
    expect(await listAcknowledged(dataDir)).toEqual([])
    expect(await chainNames()).toEqual([
      [`${month}-aaaa0001-1`, null],
      [`${month}-aaaa0001-2`, 'me'],
    ])
    expect(await listRows()).toEqual([`${month}-aaaa0001-1 1 ver_a`, `${month}-aaaa0001-2 1 null`])
    await write(writer, 'd')
    expect(await listRows()).toHaveLength(3)
  })

  it.each(['last', 'present'])('it watches the chain of the %s month', async (which) => {
    const writer = await open({ losses: toLosses() })
    const last = `${month}-aaaa0001-1`
    await write(writer, 'a', 'b', 'c')
    vi.useFakeTimers({ toFake: ['Date'] })
    onTestFinished(() => void vi.useRealTimers())
    vi.setSystemTime(endOf(month ?? ''))
    month = toMonth(Date.now())
    await write(writer, 'd', 'e', 'f')
    const chain = which === 'last' ? last : `${month}-aaaa0001-1`
    cutLog(chain, 1)
    writer.forget()
    await expect(write(writer, 'g')).rejects.toMatchObject({
      message: `chain ${chain}: rows 2 to 3 were acknowledged and are missing`,
    })
  })

  it('it states no loss on a database that cannot fail over', async () => {
    const writer = await open()
    await expect(writer.recordLoss({ ...LOST(), references: [] })).rejects.toMatchObject({
      code: 'audit_unavailable',
    })
  })
})
