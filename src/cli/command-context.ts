import { type AuditLog, auditBy, openAuditLog } from '../audit/audit-log.ts'
import { createSigner, type Signer } from '../audit/signing.ts'
import { createKeepRevocations, toRevocationsFolder } from '../backup/find-revocations.ts'
import { REVOCATIONS_FILE } from '../backup/revocations-file.ts'
import { type Config, loadConfig } from '../context/config.ts'
import { toDatabaseText } from '../context/database-text.ts'
import { openSealedStore, type SealedStore } from '../context/sealed-store.ts'
import { DEMO_NOTICE } from '../contract/demo.ts'
import { toCommandAuthor } from '../contract/free-text.ts'
import { type Fatal, toFatal } from '../database/failure.ts'
import { toPostgresUserError } from '../database/postgres-user-error.ts'
import { UserError } from '../errors.ts'
import { warn } from '../server/terminal.ts'
import { printDatabase, refuseStrayDatabase } from './database.ts'

/** What a command that only reads works with. */
export type ReadContext = SealedStore & {
  readonly config: Config
  /** The database as text, for people. */
  readonly database: string
}

/** What a command that changes something works with: the store, its keys and the audit log. */
export type CommandContext = ReadContext & {
  /** Adds the system user to each row: "by ada (cli)". */
  readonly audit: Pick<AuditLog, 'record' | 'owner'>
  /** The log itself, for functions that add the author themselves. */
  readonly auditLog: AuditLog
  readonly signer: Signer
}

type CommandContextOptions = {
  /** Fail if there is no database, instead of creating one. */
  readonly mustExist?: boolean
  /** After a restore, the audit log may be older than the last checkpoint. */
  readonly acceptOlder?: boolean
  /** Losses of audit rows are noted, and the command accepts them. */
  readonly notesLosses?: boolean
  /** The command has already printed which database it uses. */
  readonly isPrinted?: boolean
  /** Settings other than those of the environment and of .env. */
  readonly config?: Config
}

const REASONS: Readonly<Record<Fatal, string>> = {
  database_damaged: 'The database is damaged. Restore a backup.',
  database_lost:
    'The database was removed or replaced while the command ran. The last changes are lost. Run the command again.',
  disk_failed: 'The disk reports errors. Check it, then run: tabbat audit verify',
}

export const EXISTING: CommandContextOptions = { mustExist: true }

/** Every command that opens a database says why it stands still. */
export const onSchemaWait = () =>
  warn(
    'the tables must be changed for this version, but another transaction uses them, such as a backup or pg_dump. Waiting for it, for up to ten minutes.',
  )

/** Opens the database for a command that changes something, and closes it afterwards. */
export async function withCommandContext<T>(
  work: (context: CommandContext) => Promise<T>,
  {
    mustExist = false,
    acceptOlder = false,
    notesLosses = false,
    isPrinted = false,
    config = loadConfig(),
  }: CommandContextOptions = {},
): Promise<T> {
  if (!isPrinted) printDatabase(config)
  if (!mustExist) await refuseStrayDatabase(config)
  const sealed = await openSealedStore(config, { mustExist, onSchemaWait })
  if (sealed.isDemo) warn(DEMO_NOTICE)
  const database = toDatabaseText(config)
  try {
    const signer = createSigner(sealed.keyring['audit-signing'])
    const auditLog = await openAuditLog({
      table: sealed.store.audit,
      signer,
      dataDir: config.dataDir,
      checkpointDir: config.checkpointDir ?? config.dataDir,
      acceptOlder,
      notesLosses,
      losses:
        config.databaseUrl === undefined
          ? undefined
          : { losses: sealed.store.losses, isRecorded: false, by: toCommandAuthor(), onLoss: () => {} },
      onUnavailable: () => {},
      onCheckpointFailure: () => {},
      onCorruption: (error) => {
        throw new UserError(REASONS[toFatal(error) ?? 'database_damaged'])
      },
    })
    try {
      const audit = {
        owner: auditLog.owner,
        ...auditBy({ context: { audit: auditLog } }, { name: toCommandAuthor() }),
      }
      const result = await work({ ...sealed, config, database, audit, auditLog, signer })
      await noteRevocations(sealed, config)
      return result
    } finally {
      await auditLog.close()
    }
  } finally {
    await sealed.store.close()
  }
}

/** A running server does so within a minute, too. */
async function noteRevocations({ store, keyring }: SealedStore, config: Config): Promise<void> {
  try {
    const { open } = await createKeepRevocations({ tables: store, keyring, config })()
    if (open > 0)
      warn(
        `this database is older than ${REVOCATIONS_FILE}, by which access was revoked or changed: ${open}. Look at it with: tabbat backup revocations ${toRevocationsFolder(config)}`,
      )
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException
    warn(
      `${REVOCATIONS_FILE} in ${toRevocationsFolder(config)} cannot be written (${code}). Without it, a restore of an older backup revives what was revoked.`,
    )
  }
}

/** Opens the database for a command that only reads. It never creates one. */
export async function withStore<T>(work: (context: ReadContext) => Promise<T>): Promise<T> {
  const config = loadConfig()
  printDatabase(config)
  const sealed = await openSealedStore(config, { mustExist: true, isReading: true, onSchemaWait })
  if (sealed.isDemo) warn(DEMO_NOTICE)
  try {
    return await work({ ...sealed, config, database: toDatabaseText(config) })
  } catch (error) {
    throw storeError(config, error)
  } finally {
    await sealed.store.close()
  }
}

/** A standby refuses some reads, and may end long ones. */
export const storeError = ({ databaseUrl }: Config, error: unknown): unknown =>
  databaseUrl === undefined ? error : toPostgresUserError(databaseUrl, error)
