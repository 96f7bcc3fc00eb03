import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { Head } from '../../src/audit/audit-chains.ts'
import { createSqliteAuditSnapshot } from '../../src/audit/audit-snapshot.ts'
import { type AuditEntry, linkEntries } from '../../src/audit/row.ts'
import { verifyAuditLog } from '../../src/audit/verify/verify-audit-log.ts'
import { TEXT_COLUMNS } from '../../src/database/row-pages.ts'
import { CHAINS, createSampleLog } from './sample-log.ts'
import { verifyPages } from './verify-pages.ts'

const [CHAIN] = CHAINS
const RUNS = 300

/** Texts of all lengths, so that the separator and its neighbours stand at each place of a word. */
const text = fc.string({
  unit: fc.constantFrom('a', 'Z', '0', ' ', '\u001e', '\u001f', '\u0020', '\u007f', 'é', '₦', '😀', '\0'),
  maxLength: 13,
})
const plain = fc.string({ unit: fc.constantFrom('a', '\u001e', '\u009f', 'é', '₦'), maxLength: 13 })
const cell = fc.option(fc.oneof({ weight: 8, arbitrary: plain }, { weight: 1, arbitrary: text }), {
  nil: null,
})

/** Not those that a policy, a time or a phase is read from. */
const FREE = ['request_reference', 'key_id', 'subject', 'outcome', 'consent_reference', 'detail'] as const
const entry = fc.record(Object.fromEntries(FREE.map((name) => [name, cell])))

it('both verifiers give the same verdict about any texts, and about any change of them', async () => {
  const log = await createSampleLog()
  const database = new DatabaseSync(join(log.folder, 'tabbat.db'))
  for (const change of ['update', 'delete']) database.exec(`DROP TRIGGER audit_no_${change}`)
  const options = { publicKey: log.publicKey }
  const head = (await log.store.audit.head(CHAIN)) as Head
  const both = async () => {
    const verdict = await verifyAuditLog(createSqliteAuditSnapshot(database), options)
    return { verdict, pages: await verifyPages(database, options) }
  }
  const check = fc.asyncProperty(
    entry,
    fc.constantFrom(...TEXT_COLUMNS),
    cell,
    async (fields, column, value) => {
      const rows = linkEntries(CHAIN, head, [{ phase: 'outcome', ...fields } as AuditEntry])
      await log.store.audit.append({ rows: log.store.audit.packRows(rows) })
      const last = `chain = '${CHAIN}' AND sequence = ${head.sequence + 1}`
      try {
        const sound = await both()
        expect(sound.verdict.sound).toBe(true)
        const hasSeparator = Object.values(fields).some((given) => given?.includes('\u001f'))
        expect(sound.pages).toEqual(hasSeparator ? undefined : sound.verdict)
        const before = database.prepare(`SELECT ${column} AS value FROM audit WHERE ${last}`).get()?.value
        if (value === null && ['time', 'phase'].includes(column)) return
        database.prepare(`UPDATE audit SET ${column} = ? WHERE ${last}`).run(value)
        const changed = await both()
        expect(changed.verdict.sound).toBe(value === before)
        if (value !== before) expect(changed.pages).toBeUndefined()
      } finally {
        database.exec(`DELETE FROM audit WHERE ${last}`)
      }
    },
  )
  try {
    await fc.assert(check, { numRuns: RUNS })
  } finally {
    database.close()
    await log.close()
  }
})
