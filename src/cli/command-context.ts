import { auditBy } from '../audit/audit-by.ts'
import { type AuditLog, openAuditLog } from '../audit/audit-log.ts'
import { createSigner, type Signer } from '../audit/signing.ts'
import { type Config, loadConfig } from '../config/config.ts'
import { toDatabaseText } from '../config/database-text.ts'
import { UserError } from '../errors.ts'
import { COMMAND_LINE } from '../store/account-table.ts'
import { type Fatal, toFatal } from '../store/failure.ts'
import { openSealedStore, type SealedStore } from '../store/sealed-store.ts'
import { refuseStrayDatabase, tellDatabase } from './database.ts'

/** What a command that only looks works with. */
export type Opened = SealedStore & {
  readonly config: Config
  /** Where the data lies, for people. */
  readonly database: string
}

/** What a command works with: the store, its keys, and a place in the audit log. */
export type CommandContext = Opened & {
  /** Adds "by command line" to each row. */
  readonly audit: Pick<AuditLog, 'record' | 'owner'>
  /** The log itself, for functions that add whose change it is. */
  readonly auditLog: AuditLog
  readonly signer: Signer
}

type CommandContextOptions = {
  /** Refuse instead of making a new database. */
  readonly mustExist?: boolean
  /** After a restore, the audit log may be older than the last checkpoint. */
  readonly acceptOlder?: boolean
  /** The command has said before which database it uses. */
  readonly isTold?: boolean
}

const REASONS: Readonly<Record<Fatal, string>> = {
  database_damaged: 'The database is damaged. Restore a backup.',
  database_lost:
    'The database was removed or replaced meanwhile: what was written last is lost. Do it again.',
  disk_failed: 'The disk fails. Check it, then check the database with tabbat audit verify.',
}

export const EXISTING: CommandContextOptions = { mustExist: true }

/** Opens the database for a command that changes something, and leaves it as it was found. */
export async function withCommandContext<T>(
  work: (office: CommandContext) => Promise<T>,
  { mustExist = false, acceptOlder = false, isTold = false }: CommandContextOptions = {},
): Promise<T> {
  const config = loadConfig()
  if (!isTold) tellDatabase(config)
  if (!mustExist) await refuseStrayDatabase(config)
  const sealed = await openSealedStore(config, { mustExist })
  const database = toDatabaseText(config)
  try {
    const signer = createSigner(sealed.keyring['audit-signing'])
    const auditLog = await openAuditLog({
      table: sealed.store.audit,
      signer,
      dataDir: config.dataDir,
      checkpointDir: config.checkpointDir ?? config.dataDir,
      acceptOlder,
      onTrouble: () => {},
      onCheckpointFailure: () => {},
      onCorruption: (error) => {
        throw new UserError(REASONS[toFatal(error) ?? 'database_damaged'])
      },
    })
    try {
      const audit = {
        owner: auditLog.owner,
        ...auditBy({ context: { audit: auditLog } }, { name: COMMAND_LINE }),
      }
      return await work({ ...sealed, config, database, audit, auditLog, signer })
    } finally {
      await auditLog.close()
    }
  } finally {
    await sealed.store.close()
  }
}

/** For a command that only looks: it makes no database where there is none. */
export async function withStore<T>(work: (opened: Opened) => Promise<T>): Promise<T> {
  const config = loadConfig()
  tellDatabase(config)
  const sealed = await openSealedStore(config, { mustExist: true, isReading: true })
  try {
    return await work({ ...sealed, config, database: toDatabaseText(config) })
  } finally {
    await sealed.store.close()
  }
}
