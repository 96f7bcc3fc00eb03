import { beforeEach, expect, it, onTestFinished } from 'vitest'
import type { Store } from '../../src/context/store.ts'
import { describeEngines, POSTGRES, SQLITE } from '../engines.ts'
import { append } from './old-log.ts'

const CHAIN = 'aaaa0001-1'
const OTHER = 'bbbb0001-1'
const NOW = Date.UTC(2026, 10, 18)
const toTime = (number: number) => new Date(Date.UTC(2026, 0) + number).toISOString()

describeEngines([SQLITE, POSTGRES], (engine) => {
  let store: Store
  beforeEach(async () => {
    store = await (await engine.createPlace()).open()
    onTestFinished(() => store.close())
  })

  /** A chain that was closed, with so many rows. */
  async function writeChain(chain: string, rows: number, isClosed = true): Promise<void> {
    await store.audit.claim(chain, null, 'old', 1)
    if (rows > 0)
      await append(
        store,
        chain,
        Array.from({ length: rows }, () => ({ phase: 'outcome' })),
      )
    if (isClosed) await store.audit.retire([chain], 2, 3)
  }

  const record = (chains: readonly (readonly [string, number])[], checkpointsUntil = toTime(0), number = 1) =>
    store.archives.record({
      number,
      statement: `statement ${number}`,
      signature: 'AA==',
      checkpointsUntil,
      recordedAt: NOW,
      chains: chains.map(([chain, sequence]) => ({ chain, sequence })),
    })

  const countRows = async (table: string, where = 'true') =>
    Number((await store.database.prepare(`SELECT COUNT(*) AS rows FROM ${table} WHERE ${where}`).get())?.rows)

  it('lists archives by number, and when their rows were removed', async () => {
    await writeChain(CHAIN, 1)
    await writeChain(OTHER, 1)
    expect(await store.archives.count()).toBe(0)
    await record([[OTHER, 1]], toTime(7), 2)
    await record([[CHAIN, 1]], toTime(5), 1)
    await store.archives.finish(2, NOW + 1)
    expect(await store.archives.count()).toBe(2)
    const signed = (number: number) => ({ number, statement: `statement ${number}`, signature: 'AA==' })
    expect(await store.archives.list()).toEqual([
      { ...signed(1), checkpointsUntil: toTime(5), recordedAt: NOW, removedAt: undefined },
      { ...signed(2), checkpointsUntil: toTime(7), recordedAt: NOW, removedAt: NOW + 1 },
    ])
  })

  it.each([
    ['has a row more', 3, true],
    ['has a row less', 1, true],
    ['has no rows', 0, true],
    ['is in use', 2, false],
  ])('refuses a chain that %s, and records nothing', async (_what, rows, isClosed) => {
    await writeChain(OTHER, 1)
    await writeChain(CHAIN, rows, isClosed)
    const archives: [string, number][] = [
      [OTHER, 1],
      [CHAIN, 2],
    ]
    await expect(record(archives)).rejects.toThrow(`Chain ${CHAIN} was extended or archived`)
    expect(await store.archives.list()).toEqual([])
    expect((await store.audit.chains()).filter(({ isArchived }) => isArchived)).toEqual([])
  })

  it('refuses a chain that is in another archive', async () => {
    await writeChain(CHAIN, 2)
    await record([[CHAIN, 2]])
    await expect(record([[CHAIN, 2]], toTime(0), 2)).rejects.toThrow('was extended or archived')
  })

  it('lets nobody extend an archived chain', async () => {
    await writeChain(CHAIN, 2)
    await record([[CHAIN, 2]])
    expect(await store.audit.claim(CHAIN, 'archived', 'new', NOW)).toBe(false)
    expect(await store.audit.claim(CHAIN, null, 'new', NOW)).toBe(false)
    const [chain] = await store.audit.chains()
    expect(chain).toMatchObject({ isArchived: true, isRetired: true, owner: 'archived' })
    expect(chain?.beatAt).toBeGreaterThan(NOW)
  })

  it('removes rows of its chains from the end, a thousand at a time, and no others', async () => {
    await writeChain(CHAIN, 2100)
    await writeChain(OTHER, 1)
    await writeChain('cccc0001-1', 5)
    await record([
      [CHAIN, 2100],
      [OTHER, 1],
    ])
    const steps: [string, number, number][] = []
    for (let step = 'more'; step !== 'done'; ) {
      step = await store.archives.removeRows(1)
      const head = (await store.audit.head(CHAIN))?.sequence ?? 0
      steps.push([step, head, await countRows('audit')])
    }
    expect(steps).toEqual([
      ['more', 1100, 1106],
      ['more', 100, 106],
      ['more', 0, 6],
      ['more', 0, 5],
      ['done', 0, 5],
    ])
    expect(await store.archives.removeRows(2)).toBe('done')
  })

  it('removes checkpoints whose chains are all archived, page by page, up to the time of the archive', async () => {
    await writeChain(CHAIN, 1)
    await writeChain(OTHER, 1)
    await writeChain('cccc0001-1', 1)
    const toHeads = (number: number) => {
      // Also the last of a page.
      if (number % 8 === 0) return [CHAIN, 'cccc0001-1']
      if (number % 11 === 0) return []
      return number % 2 === 0 ? [CHAIN] : [CHAIN, OTHER]
    }
    const all = Array.from({ length: 450 }, (_each, index) => index + 1)
    const toBody = (number: number) => JSON.stringify({ heads: toHeads(number).map((chain) => ({ chain })) })
    await store.database.transaction((tx) =>
      tx
        .prepare("INSERT INTO checkpoints (time, body, signature) VALUES ($1, $2, 'AA==')")
        .runAll(all.map((number) => [toTime(number), toBody(number)])),
    )
    await record([[CHAIN, 1]], toTime(430))
    await record([[OTHER, 1]], toTime(440), 2)
    expect(await store.archives.removeCheckpoints(1, '')).toBe(toTime(200))
    expect(await store.archives.removeCheckpoints(1, toTime(200))).toBe(toTime(400))
    expect(await store.archives.removeCheckpoints(1, toTime(400))).toBeUndefined()
    const isKept = (number: number) => number > 430 || number % 8 === 0 || number % 11 === 0
    const kept = (await store.audit.checkpointsFrom('', 1000)).map(({ time }) => time)
    expect(kept).toEqual(all.filter(isKept).map(toTime))
    expect(await store.archives.removeCheckpoints(9, '')).toBeUndefined()
    expect(await countRows('checkpoints')).toBe(kept.length)
  })

  it('removes the rows of its months', async () => {
    const months = ['y2020m01', 'y2020m02']
    const chains = months.map((month) => `${month}-aaaa0001-1`)
    if (engine === POSTGRES)
      for (const [month, next] of [months, ['y2020m02', 'y2020m03']])
        await store.database.prepare('SELECT create_audit_month($1, $2)').run(month ?? '', next ?? '')
    for (const chain of [...chains, CHAIN, OTHER]) await writeChain(chain, 2)
    await record([...chains, CHAIN].map((chain) => [chain, 2] as const))
    const steps: string[] = []
    while (steps.at(-1) !== 'done') steps.push(await store.archives.removeRows(1))
    // PostgreSQL drops the months in the first one.
    expect(steps.length).toBe(engine === POSTGRES ? 2 : 4)
    expect(await countRows('audit')).toBe(2)
    expect(await countRows('audit', `chain = '${OTHER}'`)).toBe(2)
  })

  it('removes the blocks of its chains, and no others', async () => {
    await writeChain(CHAIN, 1)
    await writeChain(OTHER, 1)
    await record([[CHAIN, 1]])
    const blocks = 210
    const tables = [
      'audit_subject_pages',
      'audit_subject_blocks',
      'audit_consent_pages',
      'audit_consent_blocks',
    ]
    for (const table of tables) {
      const isPage = table.endsWith('pages')
      const [columns, values] = isPage ? ['bucket, entries', '0, $3'] : ['last_sequence', '$3']
      const insert = `INSERT INTO ${table} (chain, first_sequence, ${columns}) VALUES ($1, $2, ${values})`
      const rows = [CHAIN, OTHER].flatMap((chain) =>
        Array.from({ length: blocks }, (_each, index) => [chain, index, isPage ? Buffer.from([1]) : index]),
      )
      await store.database.transaction((tx) => tx.prepare(insert).runAll(rows))
    }
    const steps: string[] = []
    while (steps.at(-1) !== 'done') steps.push(await store.archives.removeBlocks(1))
    // PostgreSQL deletes a thousand at once.
    expect(steps).toEqual([...Array(4 * (engine === POSTGRES ? 1 : 2)).fill('more'), 'done'])
    for (const table of tables) {
      expect(await countRows(table, `chain = '${CHAIN}'`)).toBe(0)
      expect(await countRows(table)).toBe(blocks)
    }
  })

  it('takes the chains of its months that have no rows, and no others', async () => {
    const january = 'y2020m01-aaaa0001-1'
    const empty = 'y2020m01-bbbb0001-1'
    if (engine === POSTGRES)
      await store.database.prepare("SELECT create_audit_month('y2020m01', 'y2020m02')").run()
    await writeChain(january, 1)
    await writeChain(empty, 0, false)
    await writeChain('y2020m02-bbbb0001-1', 0, false)
    await writeChain(CHAIN, 0, false)
    await record([[january, 1]])
    const archived = (await store.audit.chains()).filter(({ isArchived }) => isArchived)
    expect(archived.map(({ chain }) => chain)).toEqual([january, empty])
  })

  it('refuses a month of which another chain has rows', async () => {
    const [january, other] = ['y2020m01-aaaa0001-1', 'y2020m01-bbbb0001-1']
    if (engine === POSTGRES)
      await store.database.prepare("SELECT create_audit_month('y2020m01', 'y2020m02')").run()
    await writeChain(january, 1)
    await writeChain(other, 1)
    await expect(record([[january, 1]])).rejects.toThrow(`Chain ${other} was extended or archived`)
    expect(await store.archives.list()).toEqual([])
  })

  if (engine === POSTGRES)
    it('does not drop a month with rows that are not archived', async () => {
      const january = 'y2020m01-aaaa0001-1'
      await store.database.prepare("SELECT create_audit_month('y2020m01', 'y2020m02')").run()
      await writeChain(january, 2)
      await record([[january, 2]])
      // As a server of an earlier version would.
      await append(store, january, [{ phase: 'outcome' }])
      await expect(store.archives.removeRows(1)).rejects.toThrow(
        `The partition audit_y2020m01 has rows of chain ${january} that are not archived. It was not removed.`,
      )
      expect(await countRows('audit')).toBe(3)
    })
})
