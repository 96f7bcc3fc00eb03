import { afterAll, beforeAll, expect, it } from 'vitest'
import { withAuditSnapshot } from '../../src/audit/audit-snapshot.ts'
import { checkProof } from '../../src/audit/check-proof.ts'
import { findCheckpointFile } from '../../src/audit/checkpoint-file.ts'
import { prove } from '../../src/audit/prove.ts'
import { verifyAuditLog } from '../../src/audit/verify/verify-audit-log.ts'
import { openVerifyPool, verifyInThreads } from '../../src/audit/verify/verify-store.ts'
import { describeEngines, POSTGRES, SQLITE } from '../engines.ts'
import { CHAINS, createSampleLog, type SampleLog } from './sample-log.ts'

describeEngines([SQLITE, POSTGRES], (engine) => {
  let log: SampleLog
  beforeAll(async () => {
    log = await createSampleLog((await engine.createPlace()).options.databaseUrl)
  })
  afterAll(() => log.close())

  const run = (sql: string) => log.store.database.prepare(sql).run()
  const verify = () => {
    const options = { publicKey: log.publicKey, file: findCheckpointFile(log.file) }
    return withAuditSnapshot(log.store, (scan) => verifyAuditLog(scan, options))
  }
  /** The verdict of threads alone: undefined when they do not accept the log. */
  const verifyWithThreads = () =>
    withAuditSnapshot(log.store, async (scan) => {
      const pool = openVerifyPool(await scan.pageSource(), 2)
      const options = { publicKey: log.publicKey, file: findCheckpointFile(log.file) }
      return verifyInThreads(scan, pool, options, 16).finally(pool.close)
    })

  it.each(['audit', 'checkpoints', 'field_policies'])(
    'refuses to change or delete rows of %s',
    async (table) => {
      const column = { audit: 'outcome', checkpoints: 'signature' }[table] ?? 'fields'
      const changes = [
        `UPDATE ${table} SET ${column} = 'x'`,
        `UPDATE ${table} SET ${column} = ${column}`,
        `DELETE FROM ${table}`,
        ...(engine === POSTGRES ? [`TRUNCATE ${table}`] : []),
      ]
      for (const sql of changes)
        await expect(run(sql), sql).rejects.toThrow('the audit log cannot be changed')
      expect((await verify()).sound).toBe(true)
    },
  )

  it('is verified row by row, with every checkpoint', async () => {
    const shown: [number, number][] = []
    const verdict = await withAuditSnapshot(log.store, (scan) =>
      verifyAuditLog(scan, {
        publicKey: log.publicKey,
        onProgress: (rows, total) => shown.push([rows, total]),
      }),
    )
    expect(verdict).toMatchObject({ sound: true, rows: 208, chains: 3, checkpoints: 5, unsigned: 0 })
    expect(shown.at(-1)).toEqual([208, 208])
  })

  it('is accepted by threads that read it in parts', async () => {
    expect(await verifyWithThreads()).toEqual(await verify())
  })

  it('gives proofs that can be checked with the public key', async () => {
    const deps = { store: log.store, signer: log.signer, checkpointDir: log.folder }
    const text = await prove(deps, log.references[17] ?? '')
    expect(checkProof(Buffer.from(text), log.publicKey)).toMatchObject({ sound: true })
  })

  /** Last: a superuser of the database can disable the triggers. */
  it('finds changes made with all rights on the database', async () => {
    if (engine === POSTGRES)
      for (const table of ['audit', 'audit_undated']) await run(`ALTER TABLE ${table} DISABLE TRIGGER USER`)
    else for (const change of ['update', 'delete']) await run(`DROP TRIGGER audit_no_${change}`)
    const where = `WHERE chain = '${CHAINS[1]}' AND sequence = 30`
    await run(`UPDATE audit SET outcome = 'not_verified' ${where}`)
    const changed = await verify()
    expect(await verifyWithThreads()).toBeUndefined()
    await run(`DELETE FROM audit ${where}`)
    const deleted = await verify()
    expect([changed.fault, deleted.fault]).toEqual([
      { chain: CHAINS[1], sequence: 30, reason: expect.stringContaining('the row was changed') },
      { chain: CHAINS[1], sequence: 30, reason: expect.stringContaining('the row is missing') },
    ])
  })
})
