import { createSecretKey } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { claimChain } from '../../src/audit/chain-claim.ts'
import { makeCheckpoint } from '../../src/audit/checkpoint.ts'
import { toPublicKey } from '../../src/audit/open-checkpoint.ts'
import { EMPTY_HEAD, linkEntries } from '../../src/audit/row.ts'
import { createSigner } from '../../src/audit/signing.ts'
import { verifyStore } from '../../src/audit/verify/verify-store.ts'
import type { Store } from '../../src/context/store.ts'
import { DAY_MS } from '../../src/contract/time.ts'
import { toMonth } from '../../src/ledger/audit-months.ts'
import { describeEngines, POSTGRES, SQLITE } from '../engines.ts'

const signer = createSigner(createSecretKey(Buffer.alloc(32, 42)))

describeEngines([SQLITE, POSTGRES], (engine) => {
  let store: Store
  let folder: string
  beforeEach(async () => {
    store = await (await engine.createPlace()).open()
    folder = mkdtempSync(join(tmpdir(), 'tabbat-chains-'))
  })
  afterEach(async () => {
    await store.close()
    rmSync(folder, { recursive: true })
  })

  const appendRow = async (chain: string) => {
    const head = (await store.audit.head(chain)) ?? EMPTY_HEAD
    await store.audit.append({ rows: store.audit.packRows(linkEntries(chain, head, [{ phase: 'outcome' }])) })
  }
  const checkpoint = async () => {
    // Each checkpoint needs a different time.
    for (const now = Date.now(); Date.now() === now; );
    const { body } = await makeCheckpoint(store.audit, signer, folder)
    return (JSON.parse(body) as { heads: { chain: string }[] }).heads.map(({ chain }) => chain)
  }
  const verify = () =>
    verifyStore(store, { publicKey: toPublicKey(signer.publicKey, 'The key'), file: undefined })

  it('a node has a free name for a chain, although one is missing before a retired one', async () => {
    const first = await claimChain(store.audit, 'n', 'one')
    const missing = { kept: 0, acknowledged: 3, references: [] }
    await store.losses.insert({ chain: first.replace(/1$/, '3'), ...missing }, Date.now())
    expect(await claimChain(store.audit, 'n', 'two')).toBe(first.replace(/1$/, '4'))
  })

  it('many starts, each with a new node name, share one chain', async () => {
    for (let start = 0; start < 40; start += 1) {
      const owner = `host-${start}:1:a`
      const chain = await claimChain(store.audit, `node${start}`, owner)
      await appendRow(chain)
      await store.audit.release(chain, owner, Date.now())
    }
    const only = `${toMonth(Date.now())}-node0-1`
    expect((await store.audit.chains()).map(({ chain }) => chain)).toEqual([only])
    expect(await checkpoint()).toEqual([only])
    expect(await verify()).toMatchObject({ sound: true, rows: 40, unsigned: 0 })
  })

  it('the chain of a live process of another node is not taken, even with the same host name', async () => {
    const first = await claimChain(store.audit, 'node1', 'host:999999:a')
    expect(await claimChain(store.audit, 'node2', 'host:999999:b')).not.toBe(first)
  })

  it('a chain that was not used for long leaves the checkpoints after its last row is in one', async () => {
    const long = Date.now() - 8 * DAY_MS
    const old = await claimChain(store.audit, 'node1', 'host:1:a')
    const live = await claimChain(store.audit, 'node2', 'host:2:b')
    await appendRow(old)
    await appendRow(live)
    await store.audit.release(old, 'host:1:a', long)
    expect(await checkpoint()).toEqual([old, live])
    expect(await checkpoint()).toEqual([live])
    await appendRow(live)
    expect(await checkpoint()).toEqual([live])
    expect(await verify()).toMatchObject({ sound: true, rows: 3, chains: 2, unsigned: 0 })
    // It is not extended again.
    expect(await claimChain(store.audit, 'node1', 'host:1:c')).toBe(old.replace(/1$/, '2'))
    expect(await store.audit.claim(old, null, 'host:1:d', Date.now())).toBe(false)
  })

  it('a retired chain that a server of an earlier version extends is in the checkpoints again', async () => {
    const old = await claimChain(store.audit, 'node1', 'host:1:a')
    await appendRow(old)
    await store.audit.release(old, 'host:1:a', Date.now() - 8 * DAY_MS)
    await checkpoint()
    expect(await checkpoint()).toEqual([])
    await appendRow(old)
    await store.audit.release(old, 'host:1:a', Date.now() + 1)
    await store.audit.sendHeartbeat(old, 'host:1:a', Date.now() + 1)
    expect(await verify()).toMatchObject({ sound: true, rows: 2, unsigned: 1 })
  })
})
