import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, it, onTestFinished } from 'vitest'
import { withAuditSnapshot } from '../../src/audit/audit-snapshot.ts'
import { findCheckpointFile } from '../../src/audit/checkpoint-file.ts'
import { acceptLoss } from '../../src/audit/losses.ts'
import { type AuditEntry, linkEntries } from '../../src/audit/row.ts'
import { verifyAuditLog } from '../../src/audit/verify/verify-audit-log.ts'
import { CHAINS, createSampleLog } from './sample-log.ts'

const [CUT, , STATED] = CHAINS
const KEPT = 100
const LAST = 110

/** A chain of 110 rows that has lost ten, and a row of another chain that says how many an operator has accepted as lost. */
async function verifyCutLog(acknowledged: number) {
  const log = await createSampleLog()
  onTestFinished(log.close)
  const database = new DatabaseSync(join(log.folder, 'tabbat.db'))
  expect(database.prepare('SELECT MAX(sequence) AS last FROM audit WHERE chain = ?').get(CUT)).toEqual({
    last: LAST,
  })
  database.exec('DROP TRIGGER audit_no_delete')
  database.prepare('DELETE FROM audit WHERE chain = ? AND sequence > ?').run(CUT, KEPT)
  database.close()
  const { audit, losses } = log.store
  const record = async (entries: readonly AuditEntry[]) => {
    const head = await audit.head(STATED)
    await audit.append({ rows: audit.packRows(linkEntries(STATED, head ?? fail(), entries)) })
  }
  const loss = { chain: CUT, kept: KEPT, acknowledged, references: [] }
  await losses.insert(loss, Date.now())
  await acceptLoss(loss, { losses, signer: log.signer, record, by: 'ada' })
  const file = findCheckpointFile(log.file)
  return withAuditSnapshot(log.store, (scan) => verifyAuditLog(scan, { publicKey: log.publicKey, file }))
}

const fail = () => {
  throw new Error('The chain is empty.')
}

it('a loss that was accepted explains the checkpoints of its rows', async () => {
  const verdict = await verifyCutLog(LAST)
  expect(verdict).toMatchObject({ sound: true, file: { checkpoints: 5 } })
})

it('a loss that was accepted does not explain a row after it', async () => {
  expect(await verifyCutLog(LAST - 1)).toMatchObject({
    sound: false,
    fault: { chain: CUT, sequence: KEPT + 1 },
  })
})
