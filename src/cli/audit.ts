import type { Command } from 'commander'
import { UserError } from '../errors.ts'
import { addAcceptLossCommand } from './audit-accept-loss.ts'
import { addAuditArchiveCommand } from './audit-archive.ts'
import { addAuditExportCommand } from './audit-export.ts'
import { addAuditProofCommands } from './audit-proof.ts'
import { addAuditShowCommands } from './audit-show.ts'
import { addAuditVerifyCommand } from './audit-verify.ts'
import { addVerifyExtractCommand } from './audit-verify-extract.ts'
import { addHelp } from './help.ts'

export function addAuditCommand(program: Command): void {
  const audit = program
    .command('audit')
    .description('verify, search, export and archive the audit log; make proofs')
  addAuditVerifyCommand(audit)
  addAuditExportCommand(audit)
  addAuditArchiveCommand(audit)
  addVerifyExtractCommand(audit)
  addAcceptLossCommand(audit)
  addAuditShowCommands(audit, readReference)
  addAuditProofCommands(audit, readReference)
  addHelp(audit, {
    examples: {
      'audit verify --checkpoints /elsewhere/checkpoints.log': 'check the whole log',
      'audit subject nin': 'list every look-up of one person',
    },
  })
}

/** The error does not repeat the text: it may be a NIN or a phone. */
function readReference(text: string): string {
  if (/^ver_[0-9a-z]{36}$/.test(text.trim())) return text.trim()
  throw new UserError('A request_reference is ver_ and 36 lower-case letters and digits.')
}
