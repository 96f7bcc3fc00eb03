import type { Command } from 'commander'
import { UserError } from '../errors.ts'
import { addAuditExportCommand } from './audit-export.ts'
import { addAuditProofCommands } from './audit-proof.ts'
import { addAuditShowCommands } from './audit-show.ts'
import { addAuditVerifyCommand } from './audit-verify.ts'

export function addAuditCommand(program: Command): void {
  const audit = program
    .command('audit')
    .description('check the audit log, export it, look something up in it, prove something with it')
  addAuditVerifyCommand(audit)
  addAuditExportCommand(audit)
  addAuditShowCommands(audit, readReference)
  addAuditProofCommands(audit, readReference)
}

/** What is wrong is not repeated: it may be somebody's number. */
function readReference(text: string): string {
  if (/^ver_[0-9a-z]{36}$/.test(text.trim())) return text.trim()
  throw new UserError('Give a request_reference: ver_ and 36 letters and digits.')
}
