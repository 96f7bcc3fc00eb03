import { expect, it } from 'vitest'
import type { Store } from '../../src/context/store.ts'
import { HOUR_MS } from '../../src/contract/time.ts'
import type { FinishedRequest } from '../../src/requests/block-writer.ts'
import { createRequestLog, deleteExpiredRequests } from '../../src/requests/request-log.ts'
import type { BlockHead, BlockId } from '../../src/requests/request-table.ts'
import { createTail, type RequestFilter, readKeyRates, searchRequests } from '../../src/requests/search.ts'
import { describeEngines, ENGINES, SQLITE } from '../engines.ts'

const toRequest = (values: Partial<FinishedRequest> = {}): FinishedRequest => ({
  ...{
    requestId: 'req_00000000000000000000000000000000',
    reference: undefined,
    keyId: 'aaaaaaaa',
    mode: 'live',
  },
  ...{
    operation: 'verify_nin',
    method: 'POST',
    status: 200,
    code: 'verified',
    durationMs: 1.5,
    fields: undefined,
  },
  ...values,
})

const toId = (number: number) => `req_${String(number).padStart(32, '0')}`

async function searchAll({ requests }: Store, filter: RequestFilter = {}, rows = 50) {
  const found = []
  let page = await searchRequests(requests, filter, undefined, { rows, blocks: 300 })
  for (;;) {
    found.push(...page.rows)
    if (!page.next) return found
    page = await searchRequests(requests, filter, page.next, { rows, blocks: 300 })
  }
}

describeEngines(ENGINES, (engine) => {
  it('finds a request whose block is joined to an older one after both were listed', async () => {
    const store = await (await engine.createPlace()).open()
    const log = createRequestLog(store.requests, 'one')
    log.add(toRequest({ requestId: toId(1) }))
    await log.flush()
    const [older] = await store.requests.list({ from: 0, until: Date.now(), most: 1, withFilters: true })
    // Enough for the small blocks to be joined.
    for (let number = 2; number < 1200; number++) log.add(toRequest({ requestId: toId(number) }))
    await log.flush()
    if (!older) throw new Error('no block')
    const newer = { ...older, first: older.first + 1000, filter: undefined }
    const table = { list: async () => [newer, older], read: store.requests.read }
    expect((await searchRequests(table, { requestId: toId(2) })).rows).toHaveLength(1)
    await store.close()
  })

  it('finds a request by everything it was logged with', async () => {
    const store = await (await engine.createPlace()).open()
    const log = createRequestLog(store.requests, 'one')
    const odd = {
      ...{ requestId: toId(7), reference: 'ver_7', keyId: 'bbbbbbbb', mode: 'test', operation: 'verify_bvn' },
      ...{
        method: 'POST',
        status: 422,
        code: 'validation_failed',
        durationMs: 0.123,
        fields: ['bvn', 'phone'],
      },
    }
    log.add(toRequest({ requestId: toId(1) }))
    log.add(odd)
    log.add(toRequest({ requestId: toId(2), status: 503, code: 'source_unavailable' }))
    await log.flush()
    const filters: RequestFilter[] = [
      { requestId: toId(7) },
      { reference: 'ver_7' },
      { keyIds: ['bbbbbbbb'] },
      { mode: 'test' },
      { operation: 'verify_bvn' },
      { status: '422' },
      { status: '4xx' },
      { status: 'refused' },
      { code: 'validation_failed' },
    ]
    for (const filter of filters)
      expect(await searchAll(store, filter), JSON.stringify(filter)).toMatchObject([odd])
    expect(await searchAll(store, { ...filters[0], keyIds: ['aaaaaaaa'] })).toEqual([])
    expect(await searchAll(store, { requestId: toId(8) })).toEqual([])
    expect((await searchAll(store)).map(({ requestId }) => requestId)).toEqual([toId(2), toId(7), toId(1)])
    await log.close()
    await store.close()
  })

  it('reads nearly only the block of a request that is searched by id or reference', async () => {
    const store = await (await engine.createPlace()).open()
    const log = createRequestLog(store.requests, 'one')
    const [blocks, size] = [40, 2000]
    for (let number = 0; number < blocks * size; number++)
      log.add(toRequest({ requestId: toId(number), reference: `ver_${number}` }))
    await log.flush()
    let reads = 0
    const counted = {
      ...store.requests,
      read: (id: BlockId) => {
        reads += 1
        return store.requests.read(id)
      },
    }
    const search = (filter: RequestFilter) =>
      searchRequests(counted, filter, undefined, { rows: 50, blocks: 5 })
    for (const filter of [{ requestId: toId(1) }, { reference: 'ver_1' }])
      expect(await search(filter)).toMatchObject({ rows: [{ requestId: toId(1) }], isCut: false })
    expect(await search({ requestId: toId(-1) })).toMatchObject({ rows: [], next: undefined, isCut: false })
    expect(reads).toBeLessThan(10)
    // A block that an earlier version wrote is read.
    await store.database.prepare('UPDATE request_blocks SET filter = NULL').run()
    expect(await searchAll(store, { requestId: toId(1) })).toHaveLength(1)
    await log.close()
    await store.close()
  })

  it('lists the requests of several processes page by page, each once, also after small blocks were joined', async () => {
    const store = await (await engine.createPlace()).open()
    const logs = ['one', 'two', 'three'].map((owner) => createRequestLog(store.requests, owner))
    let added = 0
    for (let round = 0; round < 70; round++)
      for (const log of logs) {
        log.add(toRequest({ requestId: toId(added++) }))
        await log.flush()
      }
    const heads = await store.requests.list({ from: 0, until: Number.MAX_SAFE_INTEGER, most: 1000 })
    expect(heads.length).toBeLessThan(added / 3)
    const found = await searchAll(store, {}, 7)
    expect(new Set(found.map(({ requestId }) => requestId)).size).toBe(added)
    expect(found).toHaveLength(added)
    expect(found.map(({ at }) => at)).toEqual(found.map(({ at }) => at).toSorted((a, b) => b - a))
    const { keys } = await readKeyRates(store.requests, 0)
    expect(keys).toMatchObject([{ keyId: 'aaaaaaaa', requests: added, answered: added, codes: [] }])
    for (const log of logs) await log.close()
    await store.close()
  })

  it('follows the log of all processes, each request once', async () => {
    const store = await (await engine.createPlace()).open()
    const [one, two] = ['one', 'two'].map((owner) => createRequestLog(store.requests, owner))
    one?.add(toRequest({ requestId: toId(1) }))
    const tail = createTail(store.requests, { status: '5xx' })
    const failed = (number: number) =>
      toRequest({ requestId: toId(number), status: 500, code: 'internal_error' })
    one?.add(failed(2))
    two?.add(failed(3))
    await one?.flush()
    expect((await tail()).rows.map(({ requestId }) => requestId)).toEqual([toId(2)])
    // Written later, though it was answered before.
    await two?.flush()
    one?.add(failed(4))
    await one?.flush()
    expect((await tail()).rows.map(({ requestId }) => requestId)).toEqual([toId(3), toId(4)])
    expect(await tail()).toEqual({ rows: [], isCut: false })
    await one?.close()
    await two?.close()
    await store.close()
  })

  it('follows what is not written yet, once, also when it is written later', async () => {
    const store = await (await engine.createPlace()).open()
    const log = createRequestLog(store.requests, 'one')
    const listUnwritten = async () => log.listUnwritten()
    const tail = createTail(store.requests, { status: '5xx' }, undefined, listUnwritten)
    const failed = (number: number) =>
      toRequest({ requestId: toId(number), status: 503, code: 'audit_unavailable' })
    log.add(failed(1))
    log.add(toRequest({ requestId: toId(2) }))
    log.add(failed(3))
    const { rows } = await tail()
    expect(rows.map(({ requestId }) => requestId)).toEqual([toId(1), toId(3)])
    await log.flush()
    expect(log.listUnwritten()).toEqual([])
    expect(await searchAll(store, { status: '5xx' }, 5)).toEqual(rows.toReversed())
    log.add(failed(4))
    expect((await tail()).rows.map(({ requestId }) => requestId)).toEqual([toId(4)])
    await log.close()
    await store.close()
  })
})

/** A table in memory that can fail, for what no database does on demand. */
function createFailingTable() {
  const kept = new Map<string, number>()
  const toName = ({ owner, first }: BlockId) => `${owner} ${first}`
  const table = {
    isFailing: false,
    count: () => [...kept.values()].reduce((sum, requests) => sum + requests, 0),
    append: async (blocks: readonly BlockHead[], replaced: readonly BlockId[]) => {
      if (table.isFailing) throw new Error('store unavailable')
      for (const id of replaced) kept.delete(toName(id))
      for (const block of blocks) kept.set(toName(block), block.requests)
    },
  }
  return table
}

it('keeps what it cannot write, up to a bound, and counts what it drops', async () => {
  const table = createFailingTable()
  const log = createRequestLog(table, 'one')
  table.isFailing = true
  log.add(toRequest())
  await log.flush()
  expect(table.count()).toBe(0)
  table.isFailing = false
  await log.flush()
  expect([table.count(), log.countDropped()]).toEqual([1, 0])
  table.isFailing = true
  const added = 300_000
  for (let number = 0; number < added; number++) log.add(toRequest({ requestId: toId(number) }))
  expect(log.countDropped()).toBeGreaterThan(0)
  table.isFailing = false
  await log.close()
  expect(table.count() + log.countDropped()).toBe(added + 1)
})

it.each([
  ['too old', { keepMs: 1, mostRequests: 1000 }],
  ['too many', { keepMs: HOUR_MS, mostRequests: 0 }],
  ['off', { keepMs: 'off' as const, mostRequests: 1000 }],
])('deletes everything that is %s, step by step', async (_why, limits) => {
  const store = await (await SQLITE.createPlace()).open()
  const at = Date.now() - 1000
  const block = {
    owner: 'one',
    fromAt: at,
    toAt: at,
    requests: 1,
    counts: '',
    lines: Buffer.alloc(0),
    filter: Buffer.alloc(0),
  }
  await store.requests.append(
    Array.from({ length: 120 }, (_each, first) => ({ ...block, first })),
    [],
  )
  await deleteExpiredRequests(store.requests, limits)
  expect(await store.requests.count()).toBe(0)
  await store.close()
})

it('counts the requests of keys by how they ended, and those without a key by status', async () => {
  const heads: unknown[] = []
  const table = {
    append: async (blocks: readonly unknown[]) => void heads.push(...blocks),
    list: async () => heads as never,
  }
  const log = createRequestLog(table, 'one')
  log.add(toRequest())
  log.add(toRequest({ status: 422, code: 'not_verified' }))
  log.add(toRequest({ status: 429, code: 'rate_limited' }))
  log.add(toRequest({ status: 429, code: 'rate_limited' }))
  log.add(toRequest({ status: 503, code: 'source_unavailable' }))
  log.add(toRequest({ status: 0, code: 'aborted' }))
  for (const status of [401, 404, 401]) log.countKeyless(status)
  await log.close()
  expect(await readKeyRates(table, 0)).toEqual({
    keys: [
      {
        ...{ keyId: 'aaaaaaaa', mode: 'live', requests: 6, answered: 2, refused: 2, failed: 1, brokenOff: 1 },
        codes: [
          { code: 'rate_limited', status: 429, requests: 2 },
          { code: 'source_unavailable', status: 503, requests: 1 },
          { code: 'aborted', status: 0, requests: 1 },
        ],
      },
    ],
    keyless: [
      { status: 401, count: 2 },
      { status: 404, count: 1 },
    ],
  })
  const [block] = heads as { readonly fromAt: number; readonly toAt: number }[]
  expect((block?.toAt ?? 0) - (block?.fromAt ?? 0)).toBeLessThan(HOUR_MS)
})
