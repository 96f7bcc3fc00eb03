import { expect, it } from 'vitest'
import { BLOCKS_PER_STEP, type NewBlock } from '../../src/requests/request-table.ts'
import { describeEngines, ENGINES } from '../engines.ts'

const NOW = 1_790_000_000_123
const EVERYTHING = { from: 0, until: Number.MAX_SAFE_INTEGER, most: 1000 }

const toBlock = (first: number, values: Partial<NewBlock> = {}): NewBlock => ({
  ...{ owner: 'one', first, fromAt: NOW + first, toAt: NOW + first + 9, requests: 10, counts: 'x\t1\n' },
  lines: Buffer.from(`lines of ${first}`),
  filter: Uint8Array.of(first, 255),
  ...values,
})

describeEngines(ENGINES, (engine) => {
  it('keeps blocks and gives them back, the newest first', async () => {
    const { requests, close } = await (await engine.createPlace()).open()
    await requests.append([toBlock(0), toBlock(10)], [])
    await requests.append([toBlock(5, { owner: 'two' })], [])
    const heads = await requests.list(EVERYTHING)
    expect(heads.map(({ owner, first }) => `${owner} ${first}`)).toEqual(['one 10', 'two 5', 'one 0'])
    const { lines: _lines, filter: _filter, ...head } = toBlock(10)
    expect(heads[0]).toEqual(head)
    const filters = (await requests.list({ ...EVERYTHING, withFilters: true })).map(({ filter }) => filter)
    expect(filters.map((filter) => [...(filter ?? [])])).toEqual([
      [10, 255],
      [5, 255],
      [0, 255],
    ])
    const read = await requests.read({ owner: 'two', first: 5 })
    expect(Buffer.from(read?.lines ?? []).toString()).toBe('lines of 5')
    expect(read).toMatchObject({ owner: 'two', first: 5, requests: 10, counts: 'x\t1\n' })
    expect(await requests.read({ owner: 'two', first: 6 })).toBeUndefined()
    expect(await requests.count()).toBe(30)
    await close()
  })

  it('lists page by page, within a range of time', async () => {
    const { requests, close } = await (await engine.createPlace()).open()
    // Equal ends: the order is still total.
    const blocks = Array.from({ length: 25 }, (_each, index) =>
      toBlock(index, { owner: `p${index % 3}`, toAt: NOW + Math.floor(index / 5) * 1000 + 500 }),
    )
    await requests.append(blocks, [])
    const seen = []
    for (
      let after: (typeof page)[number] | undefined, page = await requests.list({ ...EVERYTHING, most: 4 });
      ;
    ) {
      seen.push(...page)
      after = page.at(-1)
      if (page.length < 4) break
      page = await requests.list({ ...EVERYTHING, after, most: 4 })
    }
    expect(new Set(seen.map(({ owner, first }) => `${owner} ${first}`)).size).toBe(25)
    expect(seen.map(({ toAt }) => toAt)).toEqual(seen.map(({ toAt }) => toAt).toSorted((a, b) => b - a))
    const some = await requests.list({ ...EVERYTHING, from: NOW + 1500, until: NOW + 7 })
    expect(some.map(({ first }) => first).toSorted((a, b) => a - b)).toEqual([5, 6, 7])
    await close()
  })

  it('replaces small blocks by one, and writes a repeated block once', async () => {
    const { requests, close } = await (await engine.createPlace()).open()
    await requests.append([toBlock(0)], [])
    await requests.append([toBlock(10)], [])
    const joined = toBlock(0, { toAt: NOW + 30, requests: 30 })
    const parts = [toBlock(0), toBlock(10)].map(({ owner, first }) => ({ owner, first }))
    await requests.append([joined], parts)
    await requests.append([joined], parts)
    await requests.append([joined], [])
    expect((await requests.list(EVERYTHING)).map(({ requests: count }) => count)).toEqual([30])
    await close()
  })

  it('deletes the oldest first: by age, and above the most requests', async () => {
    const { requests, close } = await (await engine.createPlace()).open()
    await requests.append(
      Array.from({ length: 10 }, (_each, index) => toBlock(index * 10)),
      [],
    )
    expect(await requests.deleteExpired(NOW + 25, 1000)).toBe(2)
    expect(await requests.deleteExpired(NOW + 25, 1000)).toBe(0)
    expect(await requests.deleteExpired(0, 35)).toBe(5)
    expect((await requests.list(EVERYTHING)).map(({ first }) => first)).toEqual([90, 80, 70])
    expect(await requests.count()).toBe(30)
    await close()
  })

  it('deletes in small steps', async () => {
    const { requests, close } = await (await engine.createPlace()).open()
    await requests.append(
      Array.from({ length: BLOCKS_PER_STEP + 7 }, (_each, index) => toBlock(index)),
      [],
    )
    expect(await requests.deleteExpired(Number.MAX_SAFE_INTEGER, 0)).toBe(BLOCKS_PER_STEP)
    expect(await requests.deleteExpired(Number.MAX_SAFE_INTEGER, 0)).toBe(7)
    await close()
  })
})
