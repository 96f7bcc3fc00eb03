import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Command } from 'commander'
import { exportRows } from '../audit/export.ts'
import { EXISTING, withCommandContext } from './command-context.ts'
import { addHelp, EXIT_CODES } from './help.ts'

export function addAuditExportCommand(audit: Command): void {
  const command = audit
    .command('export')
    .description('write every row to standard output as NDJSON: one object per row, chain by chain')
    .action(() =>
      withCommandContext(async ({ store, audit }) => {
        await audit.record([{ phase: 'audit_exported', outcome: 'ok' }])
        await writeOut(exportRows(store.audit))
      }, EXISTING),
    )
  addHelp(command, {
    details:
      'The export itself is recorded in the audit log first. docs/audit-format.md explains the columns.',
    usesDatabase: true,
    exitCodes: EXIT_CODES,
    examples: {
      'audit export > audit.ndjson': 'write the whole log to a file',
      'audit export | head -1': 'look at the first row',
    },
  })
}

/** A reader may close the pipe early (`| head`): that is no failure. */
async function writeOut(lines: AsyncIterable<string>): Promise<void> {
  await pipeline(Readable.from(lines, { objectMode: false }), process.stdout, { end: false }).catch(
    (error) => {
      if ((error as NodeJS.ErrnoException).code !== 'EPIPE') throw error
    },
  )
}
