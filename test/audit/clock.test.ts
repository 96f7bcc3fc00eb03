import { createSecretKey } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { makeCheckpoint } from '../../src/audit/checkpoint.ts'
import { writeExtract } from '../../src/audit/extract/write-extract.ts'
import { toPublicKey } from '../../src/audit/open-checkpoint.ts'
import { EMPTY_HEAD, linkEntries } from '../../src/audit/row.ts'
import { createSigner } from '../../src/audit/signing.ts'
import { verifyStore } from '../../src/audit/verify/verify-store.ts'
import type { Store } from '../../src/context/store.ts'
import { DAY_MS, HOUR_MS } from '../../src/contract/time.ts'
import { describeEngines, POSTGRES, SQLITE } from '../engines.ts'

const signer = createSigner(createSecretKey(Buffer.alloc(32, 42)))
const CHAIN = 'a1b2c3d4-1'

describeEngines([SQLITE, POSTGRES], (engine) => {
  let store: Store
  let folder: string
  beforeEach(async () => {
    store = await (await engine.createPlace()).open()
    folder = mkdtempSync(join(tmpdir(), 'tabbat-clock-'))
    await store.audit.claim(CHAIN, null, 'test', Date.now())
  })
  afterEach(async () => {
    vi.useRealTimers()
    await store.close()
    rmSync(folder, { recursive: true })
  })

  const appendRow = async () => {
    const head = (await store.audit.head(CHAIN)) ?? EMPTY_HEAD
    const rows = linkEntries(CHAIN, head, [{ phase: 'key_created' }])
    await store.audit.append({ rows: store.audit.packRows(rows) })
    return rows[0]
  }
  const setClock = (at: number) => vi.useFakeTimers({ toFake: ['Date'], now: at })
  const makeNext = async () => {
    await appendRow()
    return makeCheckpoint(store.audit, signer, folder)
  }

  it.each([
    ['set back by a day while the process runs', 0, -DAY_MS],
    // As after a restart with the right clock.
    ['right again after it was an hour ahead', HOUR_MS, 0],
  ])('a checkpoint is later than the one before with a clock that is %s', async (_name, off, offLater) => {
    const start = Date.now()
    setClock(start + off)
    const first = await makeNext()
    setClock(start + offLater)
    const second = await makeNext()
    const third = await makeNext()
    expect([first.time, second.time, third.time]).toEqual([first.time, second.time, third.time].toSorted())
    expect(await store.audit.lastCheckpoint()).toEqual(third)
    expect(toFirstRows(third.body)).toEqual([2])
    const publicKey = toPublicKey(signer.publicKey, 'The key')
    expect(await verifyStore(store, { publicKey, file: undefined })).toMatchObject({
      sound: true,
      unsigned: 0,
    })
  })

  it('an extract has the rows of before the clock was set back', async () => {
    setClock(Date.now() + HOUR_MS)
    const row = await appendRow()
    vi.useRealTimers()
    const signNow = async () => void (await makeCheckpoint(store.audit, signer, folder))
    const options = {
      view: 'rows',
      format: 'ndjson',
      filter: {},
      shownFilter: {},
      keyNames: new Map(),
    } as const
    const lines = (
      await text(
        Readable.from(writeExtract({ store, missingArchives: 0, signer, isDemo: false, signNow }, options)),
      )
    )
      .trim()
      .split('\n')
    const rows = lines.map((line) => JSON.parse(line) as { record: string; time: string })
    expect(rows.filter(({ record }) => record === 'row').map(({ time }) => time)).toEqual([row?.time])
  })
})

/** The rows after which the Merkle trees begin. */
const toFirstRows = (body: string) =>
  (JSON.parse(body) as { heads: { from: number }[] }).heads.map(({ from }) => from)
