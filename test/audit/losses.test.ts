import { createSecretKey } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { createAcknowledgedFile, listAcknowledged } from '../../src/audit/acknowledged-file.ts'
import { CHECKPOINT_FILE } from '../../src/audit/checkpoint-folder.ts'
import type { Loss } from '../../src/audit/loss-table.ts'
import {
  acceptLoss,
  createLossWatch,
  findLoss,
  findLosses,
  findOpenLosses,
  type LossOptions,
  listUnacceptedLosses,
  noteLosses,
  refuseOlderStore,
  toLossRanges,
} from '../../src/audit/losses.ts'
import { type AuditEntry, EMPTY_HEAD, linkEntries } from '../../src/audit/row.ts'
import { createSigner } from '../../src/audit/signing.ts'
import type { Store } from '../../src/context/store.ts'
import type { AuditRow } from '../../src/ledger/audit-row.ts'
import { newFolder, SQLITE } from '../engines.ts'
import { append } from './old-log.ts'

/** A node was answered on more rows of a chain than the database has. The rules are the same on every database. */
const CHAIN = 'aaaa0001-1'
const OTHER = 'bbbb0001-1'
const LONG_AGO = Date.now() - 86_400_000

let store: Store
let dataDir: string
let onLoss: ReturnType<typeof vi.fn<(loss: Loss) => void>>
beforeEach(async () => {
  store = await (await SQLITE.createPlace()).open()
  onTestFinished(() => store.close())
  dataDir = newFolder()
  onLoss = vi.fn()
})

const toEntries = (from: number, upTo: number, name = 'a'): AuditEntry[] =>
  Array.from({ length: upTo - from }, (_row, index) => ({
    phase: 'outcome',
    request_reference: `ver_${name}${from + index + 1}`,
  }))

/** All rows were acknowledged, and the database has the first ones. */
async function writeRows(chain: string, stored: number, acknowledged: number): Promise<AuditRow[]> {
  const rows = linkEntries(chain, EMPTY_HEAD, toEntries(0, acknowledged))
  await store.audit.claim(chain, null, 'gone:1:a', LONG_AGO)
  if (stored > 0) await store.audit.append({ rows: store.audit.packRows(rows.slice(0, stored)) })
  await acknowledge(chain, rows)
  return rows
}

async function acknowledge(chain: string, rows: readonly AuditRow[]): Promise<void> {
  const file = createAcknowledgedFile(dataDir, chain)
  file.add(rows)
  await file.flush()
}

/** The last checkpoint that this node has signed. */
function writeCheckpoint(chain: string, { sequence, hash }: Pick<AuditRow, 'sequence' | 'hash'>): void {
  const heads = [{ chain, sequence, hash: Buffer.from(hash).toString('hex') }]
  const body = JSON.stringify({ heads })
  const line = { time: '2026-11-17T08:00:00.000Z', body, signature: 'AA==' }
  writeFileSync(join(dataDir, CHECKPOINT_FILE), `${JSON.stringify(line)}\n`)
}

const toOptions = (isRecorded = false): LossOptions => ({
  losses: store.losses,
  isRecorded,
  by: 'test',
  onLoss,
})
const toLog = (losses: LossOptions | undefined = toOptions()) => ({
  table: store.audit,
  dataDir,
  checkpointDir: dataDir,
  losses,
})
const setChain = (chain: string, values: string) =>
  store.database.prepare(`UPDATE audit_chains SET ${values} WHERE chain = $1`).run(chain)

const LOST: Loss = { chain: CHAIN, kept: 3, acknowledged: 5, references: ['ver_a4', 'ver_a5'] }

describe('the lost rows of a chain', () => {
  it('are none if the database has all that was acknowledged', async () => {
    expect(await findLoss(store.audit, dataDir, CHAIN)).toBeUndefined()
    await writeRows(CHAIN, 5, 5)
    expect(await findLoss(store.audit, dataDir, CHAIN)).toBeUndefined()
    await append(store, CHAIN, toEntries(5, 7))
    expect(await findLoss(store.audit, dataDir, CHAIN)).toBeUndefined()
  })

  it.each([
    [0, 1],
    [0, 5],
    [1, 2],
    [1, 7],
    [3, 4],
    [6, 9],
  ])('are those after row %d of %d, each reference once', async (kept, acknowledged) => {
    await writeRows(CHAIN, kept, acknowledged)
    expect(await findLoss(store.audit, dataDir, CHAIN)).toEqual({
      chain: CHAIN,
      kept,
      acknowledged,
      references: toEntries(kept, acknowledged).map((entry) => entry.request_reference),
    })
  })

  it('name a reference once, and none for a row that has none', async () => {
    const entries = [...toEntries(0, 1), { phase: 'checkpoint' }, ...toEntries(0, 1)]
    await acknowledge(CHAIN, linkEntries(CHAIN, EMPTY_HEAD, entries))
    expect((await findLoss(store.audit, dataDir, CHAIN))?.references).toEqual(['ver_a1'])
  })

  it('are found although others stand in their place, also more of them', async () => {
    await writeRows(CHAIN, 3, 5)
    await append(store, CHAIN, toEntries(3, 9, 'b'))
    expect(await findLoss(store.audit, dataDir, CHAIN)).toEqual(LOST)
  })

  it('begin after the last row of the chain, if rows of other nodes stood between', async () => {
    const rows = linkEntries(CHAIN, EMPTY_HEAD, toEntries(0, 6))
    await store.audit.claim(CHAIN, null, 'gone:1:a', LONG_AGO)
    await store.audit.append({ rows: store.audit.packRows(rows.slice(0, 2)) })
    await acknowledge(CHAIN, [rows[0], rows[4], rows[5]] as AuditRow[])
    expect(await findLoss(store.audit, dataDir, CHAIN)).toMatchObject({ kept: 2, acknowledged: 6 })
    await acknowledge(OTHER, [rows[4]] as AuditRow[])
    expect(await findLoss(store.audit, dataDir, OTHER)).toMatchObject({ kept: 0, acknowledged: 5 })
  })

  it('are not lost if they are archived', async () => {
    await writeRows(CHAIN, 3, 5)
    await setChain(CHAIN, 'archive = 1')
    expect(await findLosses(store.audit, dataDir)).toEqual([])
    await writeRows(OTHER, 0, 1)
    expect(await findLosses(store.audit, dataDir)).toMatchObject([{ chain: OTHER }])
    await setChain(CHAIN, 'archive = NULL')
    expect(await findLosses(store.audit, dataDir)).toMatchObject([LOST, { chain: OTHER }])
  })
})

describe('a node that starts', () => {
  it('refuses to, with every loss that no operator has accepted', async () => {
    await writeRows(CHAIN, 3, 5)
    await expect(findOpenLosses(toLog())).rejects.toThrow(
      'acknowledged (chain aaaa0001-1, rows 4 to 5), as after a failover',
    )
    expect(onLoss.mock.calls).toEqual([[LOST]])
    expect(await store.losses.list('open')).toEqual([LOST])
    expect(await listAcknowledged(dataDir)).toEqual([CHAIN])
  })

  it('returns the losses whose statement it is to write', async () => {
    await writeRows(CHAIN, 3, 5)
    expect(await findOpenLosses(toLog(toOptions(true)))).toEqual([LOST])
    expect(onLoss).not.toHaveBeenCalled()
  })

  it('forgets what was acknowledged once its loss is accepted', async () => {
    await writeRows(CHAIN, 3, 5)
    await writeRows(OTHER, 2, 2)
    await store.losses.insert(LOST, 1)
    await store.losses.accept(LOST, 2)
    expect(await findOpenLosses(toLog())).toEqual([])
    expect(await listAcknowledged(dataDir)).toEqual([OTHER])
  })

  it('does not look at losses of other nodes if it has none itself', async () => {
    await writeRows(CHAIN, 5, 5)
    await store.losses.insert({ ...LOST, chain: OTHER }, 1)
    expect(await findOpenLosses(toLog())).toEqual([])
  })

  it('forgets retired chains of which nothing is lost', async () => {
    await writeRows('dddd0001-1', 2, 2)
    await setChain('dddd0001-1', 'retired_at = beat_at')
    expect(await findOpenLosses(toLog())).toEqual([])
    expect(await listAcknowledged(dataDir)).toEqual([])
    for (const [chain, stored] of [
      [CHAIN, 3],
      [OTHER, 5],
      ['cccc0001-1', 4],
    ] as const)
      await writeRows(chain, stored, 5)
    for (const chain of [CHAIN, OTHER]) await setChain(chain, 'retired_at = beat_at')
    expect(await findOpenLosses(toLog(toOptions(true)))).toMatchObject([LOST, { kept: 4 }])
    expect((await listAcknowledged(dataDir)).toSorted()).toEqual([CHAIN, 'cccc0001-1'])
  })

  it('compares the log with its last checkpoint', async () => {
    const rows = await writeRows(CHAIN, 3, 3)
    writeCheckpoint(CHAIN, rows[2] as AuditRow)
    expect(await findOpenLosses({ ...toLog(), losses: undefined })).toEqual([])
    const [last] = linkEntries(CHAIN, rows[2] as AuditRow, toEntries(3, 4))
    writeCheckpoint(CHAIN, last as AuditRow)
    const shortened = { chain: CHAIN, kept: 3, acknowledged: 4, references: [] }
    expect(await findOpenLosses(toLog(toOptions(true)))).toEqual([shortened])
    // On SQLite nothing fails over.
    await expect(findOpenLosses({ ...toLog(), losses: undefined })).rejects.toThrow(
      /is shorter than the last checkpoint in .* says \(chain aaaa0001-1, row 4\)/,
    )
    await expect(listUnacceptedLosses(store, toLog())).rejects.toThrow('is shorter than')
  })
})

describe('an operator who accepts losses', () => {
  it('is told of those that this node would find at its start', async () => {
    await writeRows(CHAIN, 3, 5)
    await noteLosses(toLog())
    expect(await store.losses.list('open')).toEqual([LOST])
    expect(onLoss).not.toHaveBeenCalled()
    await noteLosses({ ...toLog(), losses: undefined })
  })

  it('is told of rows that were replaced by others', async () => {
    const rows = await writeRows(CHAIN, 2, 4)
    await append(store, CHAIN, toEntries(2, 6, 'b'))
    writeCheckpoint(CHAIN, rows[3] as AuditRow)
    await noteLosses(toLog())
    // By the signed row, none of the chain is known to be left; by the acknowledged ones, two are.
    expect((await store.losses.list('open')).toSorted((one, other) => one.kept - other.kept)).toMatchObject([
      { chain: CHAIN, kept: 0, acknowledged: 4 },
      { chain: CHAIN, kept: 2, acknowledged: 4 },
    ])
  })

  it('must stop a server first that extends the chain', async () => {
    await writeRows(CHAIN, 3, 5)
    await store.audit.sendHeartbeat(CHAIN, 'gone:1:a', Date.now())
    await expect(noteLosses(toLog())).rejects.toThrow(
      'Rows of chain aaaa0001-1 are missing, and a server extends it',
    )
    expect(await store.losses.list('open')).toEqual([])
  })

  it('does not wait for a server that has found its own loss, or whose loss is accepted', async () => {
    await writeRows(CHAIN, 3, 5)
    await store.audit.sendHeartbeat(CHAIN, 'gone:1:a', Date.now())
    await store.losses.insert({ ...LOST, references: [] }, 1)
    await noteLosses(toLog())
    expect(await store.losses.list('open')).toMatchObject([{ chain: CHAIN, kept: 3, acknowledged: 5 }])
    await store.losses.accept(LOST, 2)
    await noteLosses(toLog())
    expect(await store.losses.list('open')).toEqual([])
  })

  it('leaves a loss to its server while another one is open', async () => {
    await writeRows(CHAIN, 3, 5)
    await store.audit.sendHeartbeat(CHAIN, 'gone:1:a', Date.now())
    await store.losses.insert({ ...LOST, chain: OTHER }, 1)
    await store.losses.insert({ ...LOST, kept: 1 }, 1)
    const before = await store.losses.list('open')
    await noteLosses(toLog())
    expect(await store.losses.list('open')).toEqual(before)
  })

  it('gets a list of all that nobody has accepted, each once', async () => {
    await writeRows(CHAIN, 3, 5)
    await writeRows(OTHER, 0, 1)
    expect(await listUnacceptedLosses(store, toLog())).toEqual([])
    const onPostgres = { ...store, database: { ...store.database, dialect: 'postgres' as const } }
    const list = async () => (await listUnacceptedLosses(onPostgres, toLog())).map(({ chain }) => chain)
    expect((await list()).toSorted()).toEqual([CHAIN, OTHER])
    await store.losses.insert(LOST, 1)
    expect((await list()).toSorted()).toEqual([CHAIN, OTHER])
    await store.losses.accept(LOST, 2)
    expect(await list()).toEqual([OTHER])
  })

  it('signs no log that lacks signed rows, unless their loss is accepted', async () => {
    const rows = await writeRows(CHAIN, 3, 5)
    writeCheckpoint(CHAIN, rows[4] as AuditRow)
    await expect(refuseOlderStore(store, dataDir)).rejects.toThrow('(chain aaaa0001-1, row 5)')
    await store.losses.insert(LOST, 1)
    await expect(refuseOlderStore(store, dataDir)).rejects.toThrow('(chain aaaa0001-1, row 5)')
    await store.losses.accept(LOST, 2)
    await refuseOlderStore(store, dataDir)
  })

  it('reads the rows in words, each range once', () => {
    expect(toLossRanges([LOST, { ...LOST, references: [] }, { ...LOST, chain: OTHER, kept: 0 }])).toBe(
      'chain aaaa0001-1, rows 4 to 5; chain bbbb0001-1, rows 1 to 5',
    )
  })

  it.each([
    [0, [0]],
    [1, [1]],
    [1000, [1000]],
    [1001, [1000, 1]],
    [2500, [1000, 1000, 500]],
  ])('states a loss of %d references in rows of %j', async (count, rows) => {
    const signer = createSigner(createSecretKey(Buffer.alloc(32, 42)))
    const references = Array.from({ length: count }, (_each, index) => `ver_${index}`)
    const loss = { ...LOST, references }
    const written: AuditEntry[] = []
    const accepted: unknown[] = []
    await acceptLoss(loss, {
      losses: { accept: async (given) => void accepted.push([given, written.length]) },
      signer,
      record: async (entries) => void written.push(...entries),
      by: 'ada',
    })
    expect(accepted).toEqual([[loss, rows.length]])
    const statements = written.map(({ phase, outcome, detail = '' }) => {
      expect([phase, outcome]).toEqual(['log_shortened', 'accepted'])
      const [, text = '', signature] = /^(.*) (\S+)$/.exec(detail ?? '') ?? []
      expect(signature).toBe(signer.sign(text))
      return JSON.parse(text)
    })
    expect(statements.map((each) => each.references.length)).toEqual(rows)
    expect(statements.flatMap((each) => each.references)).toEqual(references)
    for (const each of statements)
      expect(each).toMatchObject({ chain: CHAIN, kept: 3, acknowledged: 5, by: 'ada' })
  })
})

describe('the watch of a running server', () => {
  it('writes what was acknowledged before it compares', async () => {
    const watch = createLossWatch(toLog(), toOptions(), CHAIN)
    const rows = await writeRows(CHAIN, 3, 3)
    expect(await watch.findLoss()).toBeUndefined()
    watch.file.add(linkEntries(CHAIN, rows[2] as AuditRow, toEntries(3, 5)))
    expect(await watch.findLoss()).toMatchObject({
      name: 'AcknowledgedRowsLost',
      message: 'chain aaaa0001-1: rows 4 to 5 were acknowledged and are missing',
    })
    expect(await store.losses.list('open')).toEqual([LOST])
  })

  it('reports a loss once, and again if it is larger', async () => {
    const watch = createLossWatch(toLog(), toOptions(), CHAIN)
    const rows = await writeRows(CHAIN, 3, 5)
    expect(await watch.findOpen()).toBeUndefined()
    await watch.findLoss()
    await watch.findLoss()
    expect(onLoss.mock.calls).toEqual([[LOST]])
    watch.file.add(linkEntries(CHAIN, rows[4] as AuditRow, toEntries(5, 6)))
    await watch.findLoss()
    expect(onLoss.mock.calls[1]).toMatchObject([{ kept: 3, acknowledged: 6 }])
    expect(await watch.findOpen()).toMatchObject({ acknowledged: 6 })
  })

  it('forgets the chain when the loss is accepted', async () => {
    const watch = createLossWatch(toLog(), toOptions(), CHAIN)
    await writeRows(CHAIN, 3, 5)
    await watch.findLoss()
    expect(await watch.findOpen()).toEqual(LOST)
    await store.losses.accept(LOST, 2)
    expect(await watch.findOpen()).toBeUndefined()
    expect(await listAcknowledged(dataDir)).toEqual([])
    expect(await watch.findLoss()).toBeUndefined()
    await acknowledge(CHAIN, linkEntries(CHAIN, EMPTY_HEAD, toEntries(0, 1)))
    expect(await watch.findOpen()).toBeUndefined()
    expect(await listAcknowledged(dataDir)).toEqual([CHAIN])
  })
})
