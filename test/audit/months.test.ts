import { createSecretKey } from 'node:crypto'
import { afterEach, expect, it, onTestFinished, vi } from 'vitest'
import { type AuditLog, openAuditLog } from '../../src/audit/audit-log.ts'
import { hasCrashed, loadNodeName } from '../../src/audit/chain-claim.ts'
import { toPublicKey } from '../../src/audit/open-checkpoint.ts'
import { searchAudit } from '../../src/audit/search.ts'
import { createSigner } from '../../src/audit/signing.ts'
import { verifyStore } from '../../src/audit/verify/verify-store.ts'
import type { Store } from '../../src/context/store.ts'
import { DAY_MS, MINUTE_MS } from '../../src/contract/time.ts'
import { endOf, monthOf, toMonth } from '../../src/ledger/audit-months.ts'
import { describeEngines, POSTGRES, SQLITE } from '../engines.ts'
import { newDataDir } from '../process/tabbat.ts'

const signer = createSigner(createSecretKey(Buffer.alloc(32, 42)))
const fail = (error: unknown) => {
  throw error
}
const START = endOf(toMonth(Date.now()))

/** A process can set its clock forward, and never back. */
const setClock = (at: number) => vi.setSystemTime(at)
afterEach(() => vi.useRealTimers())

const open = (store: Store, dataDir = newDataDir()): Promise<AuditLog> =>
  openAuditLog({
    table: store.audit,
    signer,
    dataDir,
    checkpointDir: dataDir,
    onUnavailable: fail,
    onCheckpointFailure: fail,
    onCorruption: fail,
  })

const record = (audit: AuditLog, reference: string) =>
  audit.record([{ phase: 'outcome', request_reference: reference }])

const verify = (store: Store) =>
  verifyStore(store, { publicKey: toPublicKey(signer.publicKey, 'The key'), file: undefined })

describeEngines([SQLITE, POSTGRES], (engine) => {
  async function openPlace(): Promise<Store> {
    const store = await (await engine.createPlace()).open()
    onTestFinished(() => store.close())
    return store
  }
  const listMonths = async (store: Store) =>
    (await store.audit.chains()).map(({ chain, owner }) => [monthOf(chain), owner !== null])

  it('a process begins a new chain with the first row of a month, and gives the old one up', async () => {
    const store = await openPlace()
    vi.useFakeTimers({ toFake: ['Date'] })
    setClock(START - 1000)
    const audit = await open(store)
    await record(audit, 'ver_1')
    setClock(START + 1)
    await Promise.all(['ver_2', 'ver_3'].map((reference) => record(audit, reference)))
    expect(await listMonths(store)).toEqual([
      [toMonth(START - 1), false],
      [toMonth(START), true],
    ])
    const rows = ['ver_1', 'ver_2', 'ver_3'].map(async (each) => (await store.audit.byReference(each))[0])
    expect((await Promise.all(rows)).map((row) => [monthOf(row?.chain ?? ''), row?.sequence])).toEqual([
      [toMonth(START - 1), 1],
      [toMonth(START), 1],
      [toMonth(START), 2],
    ])
    await audit.close()
    expect(await verify(store)).toMatchObject({ sound: true, rows: 3, chains: 2, unsigned: 0 })
  })

  it('a crash in an earlier month is found once', async () => {
    const store = await openPlace()
    const dataDir = newDataDir()
    const node = loadNodeName(dataDir)
    await store.audit.claim(`y2020m01-${node}-1`, null, 'elsewhere:1:a', Date.now() - DAY_MS)
    expect(await hasCrashed(store.audit, node)).toBe(true)
    const audit = await open(store, dataDir)
    await audit.close()
    expect(await hasCrashed(store.audit, node)).toBe(false)
  })

  it('pages back through many months without reading the chains of earlier ones', async () => {
    const store = await openPlace()
    vi.useFakeTimers({ toFake: ['Date'] })
    const months = 12
    let at = START
    const starts: number[] = []
    for (let month = 0; month < months; month += 1) {
      starts.push(at)
      setClock(at + MINUTE_MS)
      const audit = await open(store)
      for (let row = 0; row < 3; row += 1) await record(audit, `ver_${month}_${row}`)
      await audit.checkpoint()
      await audit.close()
      at = endOf(toMonth(at))
    }
    for (const { chain, beatAt } of (await store.audit.chains()).slice(0, -1))
      await store.audit.retire([chain], beatAt + 1, beatAt + DAY_MS)
    const read = new Set<string>()
    const table = {
      ...store.audit,
      pageBack: (chain: string, ...rest: [number, number]) => {
        read.add(chain)
        return store.audit.pageBack(chain, ...rest)
      },
    }
    const limits = { page: 3, looks: 1000, indexed: 100 }
    const names: unknown[] = []
    let page = await searchAudit(table, {}, undefined, limits)
    expect(read.size).toBeLessThanOrEqual(3)
    for (;;) {
      names.push(...page.found.map(({ request_reference }) => request_reference))
      if (!page.next) break
      page = await searchAudit(table, {}, page.next, limits)
    }
    const expected = Array.from({ length: months * 3 }, (_row, n) => `ver_${Math.floor(n / 3)}_${n % 3}`)
    expect(names).toEqual(expected.toReversed())
    // With times, too, and in the middle of the year.
    read.clear()
    const within = {
      from: new Date(starts[4] ?? 0).toISOString(),
      to: new Date((starts[5] ?? 0) - 1).toISOString(),
    }
    const some = await searchAudit(table, within, undefined, { ...limits, page: 50 })
    expect(some.found.map(({ request_reference }) => request_reference)).toEqual([
      'ver_4_2',
      'ver_4_1',
      'ver_4_0',
    ])
    expect(read.size).toBeLessThanOrEqual(3)
  })
})
