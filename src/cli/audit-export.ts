import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Command } from 'commander'
import type { AuditRow, AuditTable } from '../store/audit-table.ts'
import { withStore } from './office.ts'

const ROWS_AT_ONCE = 500

export function addAuditExportCommand(audit: Command): void {
  audit
    .command('export')
    .description('write every row to standard output: NDJSON, one object a row, chain by chain')
    .action(() => withStore(({ store }) => writeOut(toLines(store.audit))))
}

/** A row as an object of text and numbers. The names are those of the columns; hashes are hex. */
export const toPlainRow = ({ previous_hash, hash, ...fields }: AuditRow) => ({
  ...fields,
  previous_hash: Buffer.from(previous_hash).toString('hex'),
  hash: Buffer.from(hash).toString('hex'),
})

/** Page by page: whoever reads slowly holds up nobody, and rows do not change meanwhile. */
async function* toLines(table: AuditTable): AsyncIterable<string> {
  for (const { chain } of await table.chains()) {
    let after = 0
    for (;;) {
      const rows = await table.page(chain, after, ROWS_AT_ONCE)
      if (rows.length === 0) break
      after = rows.at(-1)?.sequence ?? after
      yield rows.map((row) => `${JSON.stringify(toPlainRow(row))}\n`).join('')
    }
  }
}

/** Whoever has read enough may close the pipe. */
async function writeOut(lines: AsyncIterable<string>): Promise<void> {
  await pipeline(Readable.from(lines, { objectMode: false }), process.stdout, { end: false }).catch(
    (error) => {
      if ((error as NodeJS.ErrnoException).code !== 'EPIPE') throw error
    },
  )
}
