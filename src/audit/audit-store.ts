import { type DatabaseOptions, type OpenDatabase, openDatabase } from '../database/open-database.ts'
import { type ArchiveTable, archiveTable } from './archive-table.ts'
import { type AuditTable, defineAuditTable } from './audit-table.ts'
import { type LossTable, lossTable } from './loss-table.ts'

/** A database with the tables of the audit log. */
export type AuditStore = OpenDatabase & {
  readonly audit: AuditTable
  readonly losses: LossTable
  readonly archives: ArchiveTable
}

/** For a thread that reads the log. */
export async function openAuditStore(options: DatabaseOptions): Promise<AuditStore> {
  const opened = await openDatabase(options)
  const { database } = opened
  return {
    ...opened,
    audit: defineAuditTable().create(database),
    losses: lossTable.create(database),
    archives: archiveTable.create(database),
  }
}
