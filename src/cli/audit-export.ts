import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Command } from 'commander'
import { exportRows } from '../audit/export.ts'
import { EXISTING, withCommandContext } from './command-context.ts'

export function addAuditExportCommand(audit: Command): void {
  audit
    .command('export')
    .description('write every row to standard output: NDJSON, one object a row, chain by chain')
    .action(() =>
      withCommandContext(async ({ store, audit }) => {
        await audit.record([{ phase: 'audit_exported', outcome: 'ok' }])
        await writeOut(exportRows(store.audit))
      }, EXISTING),
    )
}

/** Whoever has read enough may close the pipe. */
async function writeOut(lines: AsyncIterable<string>): Promise<void> {
  await pipeline(Readable.from(lines, { objectMode: false }), process.stdout, { end: false }).catch(
    (error) => {
      if ((error as NodeJS.ErrnoException).code !== 'EPIPE') throw error
    },
  )
}
