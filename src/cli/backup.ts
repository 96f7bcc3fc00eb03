import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Command } from 'commander'
import { toVisible } from '../audit/verify/fault.ts'
import { BadBackupError } from '../backup/read-backup.ts'
import { type CheckedBackup, checkBackup } from '../backup/restore-backup.ts'
import {
  type Backup,
  deleteOldBackups,
  toBackupFile,
  writeBackup,
  writeRecordedBackup,
} from '../backup/write-backup.ts'
import { loadConfig } from '../context/config.ts'
import { openSealedStore } from '../context/sealed-store.ts'
import { openStore } from '../context/store.ts'
import { readServerFacts } from '../database/server-facts.ts'
import { UserError } from '../errors.ts'
import { say, sayJson, strong, toCount, warn } from '../server/terminal.ts'
import { addBackupRevocationsCommand } from './backup-revocations.ts'
import { EXISTING, type ReadContext, withCommandContext, withStore } from './command-context.ts'
import { type DatabaseUrlOptions, readDatabaseUrl } from './database-url.ts'
import { addHelp, EXIT_CODES } from './help.ts'
import { readCount } from './options.ts'
import { createProgress } from './progress.ts'

type Options = { force?: boolean; keep?: number; check?: true; json?: true }

export function addBackupCommand(program: Command): void {
  const command = program
    .command('backup')
    .description('write all data of one moment to a file, while servers run')
    .argument('<file>', 'file to write, with --keep its folder; it appears when it is complete')
    .option('--force', 'replace the file if it exists')
    .option(
      '--keep <number>',
      'write a dated file, and delete all but this many of those that --keep wrote',
      readCount,
    )
    .option('--check', 'then check it as "backup check" does; if it is not good, --keep deletes nothing')
    .option('--json', 'print a JSON object')
    .action(runBackup)
  addHelp(command, {
    details:
      'The file can be restored into SQLite or PostgreSQL, whichever it came from. It does not contain the root key, and cannot be opened without it: keep a copy of the root key elsewhere. See docs/backup.md.',
    usesDatabase: true,
    exitCodes: EXIT_CODES,
    examples: {
      'backup /backups/tabbat.backup': 'write a backup',
      'backup --json --check --keep 30 /backups':
        'write a dated one, check it and keep 30, for a nightly job',
      'backup check /backups/tabbat.backup': 'restore it into a temporary database, and check it',
    },
  })
  addBackupCheckCommand(command)
  addBackupRevocationsCommand(command)
}

async function runBackup(path: string, { force = false, keep, check, json }: Options): Promise<void> {
  const file = keep === undefined ? path : toBackupFile(path, new Date())
  const finish = async ({ rootKeys, database }: ReadContext, backup: Backup) => {
    const checked = check && (await checkAndNote(file, undefined))
    const isGood = !checked || checked.faults.length === 0
    const { deleted, later = [] } =
      keep !== undefined && isGood ? await deleteOldBackups(path, file, { keep, rootKeys }) : {}
    report(file, { ...backup, deleted, checked }, json && { database })
    if (later.length > 0)
      warn(
        `these backups are named with a later time than the new one, so the clock was or is wrong. They do not count for --keep, and stay: ${later.join(', ')}`,
      )
    warn(
      `the root key is NOT in the backup (it is in ${rootKeys.where}). Without it the backup cannot be opened. Keep a copy of the root key, away from the backup.`,
    )
  }
  const isWritten = await withStandby(async (context) => {
    await finish(
      context,
      await withProgress((onProgress) => writeBackup(context, file, { force, onProgress })),
    )
    warn(
      'this server is a standby, which cannot be written: the backup is not in the audit log, and doctor and the metric of the last backup do not count it.',
    )
  })
  if (isWritten) return
  const recorded = { ...EXISTING, isPrinted: loadConfig().databaseUrl !== undefined }
  await withCommandContext(
    async (context) =>
      finish(
        context,
        await withProgress((onProgress) => writeRecordedBackup(context, file, { force, onProgress })),
      ),
    recorded,
  )
}

/** Whether the database is a standby of PostgreSQL. If so, the work is done there. */
async function withStandby(work: (context: ReadContext) => Promise<void>): Promise<boolean> {
  if (loadConfig().databaseUrl === undefined) return false
  return withStore(async (context) => {
    const { isStandby = false } = (await readServerFacts(context.store.database)) ?? {}
    if (isStandby) await work(context)
    return isStandby
  })
}

function withProgress(
  write: (onProgress: (done: number, total: number) => void) => Promise<Backup>,
): Promise<Backup> {
  const progress = createProgress()
  return write(progress.show).finally(progress.clear)
}

type Written = Backup & {
  readonly deleted: readonly string[] | undefined
  readonly checked: TimedCheck | undefined
}

function report(
  file: string,
  { header, counts, deleted, checked }: Written,
  json: { database: string } | undefined,
): void {
  const bytes = statSync(file).size
  if (json) {
    const { root_fingerprint, created_at, schema } = header
    sayJson(json, {
      file,
      bytes,
      created_at,
      schema,
      root_fingerprint,
      rows: counts,
      ...(deleted && { deleted }),
      ...(checked && { check: toCheckFacts(checked) }),
    })
    return
  }
  const { registry = 0, media = 0, api_keys = 0 } = counts
  say(strong(`The backup is complete: ${toVisible(file)} (${(bytes / 1e6).toFixed(1)} MB)`))
  say(
    `${toCount(registry, 'row')} of the registry, ${toCount(media, 'picture')}, ${toCount(api_keys, 'API key')}, as of ${header.created_at}.`,
  )
  if (checked) reportCheck(file, checked)
  for (const old of deleted ?? []) say(`Deleted: ${toVisible(old)}`)
}

type CheckOptions = DatabaseUrlOptions & { json?: true }

const SIGNAL_EXIT_CODES = { SIGINT: 130, SIGTERM: 143 } as const

function addBackupCheckCommand(backup: Command): void {
  const command = backup
    .command('check')
    .description('restore a backup into a temporary database, and check all of it')
    .argument('<file>', 'file that "tabbat backup" wrote')
    .option('--database-url <url>', 'an empty PostgreSQL database to restore into, instead of SQLite')
    .option('--database-url-file <file>', 'file with that address, if it holds a password')
    .option('--json', 'print a JSON object')
    // The parser gives --json to "backup", which has it too.
    .action((file: string, _options, self: Command) => runCheck(file, self.optsWithGlobals<CheckOptions>()))
  addHelp(command, {
    details:
      'It compares the number of rows of every table, opens every record and picture with the root key, and verifies the audit log. In your database, only the time and the result are noted, for doctor and the console. SQLite is used in a temporary folder (TMPDIR), which needs about twice the size of the data and is deleted afterwards, also after Ctrl-C. A PostgreSQL database keeps what was restored: drop it afterwards.',
    settings: ['TABBAT_ROOT_KEY', 'TABBAT_ROOT_KEY_PREVIOUS'],
    exitCodes: {
      0: 'the backup is good',
      1: 'it is not, or could not be checked',
      130: 'interrupted by Ctrl-C',
      143: 'interrupted by SIGTERM',
    },
    examples: {
      'backup check /backups/tabbat.backup': 'check a backup',
      'backup check --json /backups/tabbat.backup --database-url-file /etc/tabbat/scratch-url':
        'check it on PostgreSQL, for a job',
    },
  })
}

async function runCheck(file: string, { json, ...options }: CheckOptions): Promise<void> {
  const checked = await checkAndNote(file, readDatabaseUrl(options, 'the empty database'))
  const { header, counts } = checked
  const facts = { created_at: header.created_at, rows: counts, ...toCheckFacts(checked) }
  if (json) say(JSON.stringify({ file, ...facts }))
  else reportCheck(file, checked)
}

type TimedCheck = CheckedBackup & { readonly seconds: number }

/** Sets the exit code if the backup is not good. */
async function checkAndNote(file: string, databaseUrl: string | undefined): Promise<TimedCheck> {
  const startedAt = performance.now()
  const checked = await withScratchFolder((folder) => checkIn(folder, databaseUrl, file)).catch(
    async (error) => {
      if (error instanceof BadBackupError) await noteCheck(undefined, false)
      throw error
    },
  )
  await noteCheck(checked.header.created_at, checked.faults.length === 0)
  if (checked.faults.length > 0) process.exitCode = 1
  return { ...checked, seconds: (performance.now() - startedAt) / 1000 }
}

/**
 * For doctor and the console. The machine may have no database, or a standby. An older schema stays: a backup may be checked
 * with a new version before an upgrade.
 */
async function noteCheck(of: string | undefined, isGood: boolean): Promise<void> {
  try {
    const { store } = await openSealedStore(loadConfig(), { mustExist: true, keepsSchema: true })
    await store.meta
      .set({
        last_backup_check_at: new Date().toISOString(),
        last_backup_check_result: isGood ? 'good' : 'bad',
        last_backup_check_of: of,
      })
      .finally(store.close)
  } catch (error) {
    const why = error instanceof UserError ? error.message : 'The database cannot be written.'
    warn(`doctor and the console are not told of this check. ${why}`)
  }
}

async function checkIn(dataDir: string, databaseUrl: string | undefined, file: string) {
  const progress = createProgress()
  const store = await openStore({ dataDir, databaseUrl, isScratch: true })
  try {
    return await checkBackup(loadConfig(), store, file, progress.show)
  } finally {
    progress.clear()
    await store.close()
  }
}

/** Deletes the folder at the end, also when a signal ends the process. */
async function withScratchFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  let folder: string | undefined
  const clean = () => folder && rmSync(folder, { recursive: true, force: true })
  const onSignal = (name: keyof typeof SIGNAL_EXIT_CODES) => process.exit(SIGNAL_EXIT_CODES[name])
  process.once('exit', clean).once('SIGINT', onSignal).once('SIGTERM', onSignal)
  try {
    folder = mkdtempSync(join(tmpdir(), 'tabbat-check-'))
    return await work(folder)
  } finally {
    process.off('exit', clean).off('SIGINT', onSignal).off('SIGTERM', onSignal)
    clean()
  }
}

const toCheckFacts = ({ opened, auditRows, seconds, faults }: TimedCheck) => ({
  good: faults.length === 0,
  opened,
  audit_rows: auditRows,
  seconds: Number(seconds.toFixed(3)),
  faults,
})

function reportCheck(file: string, { header, opened, auditRows, faults, seconds }: TimedCheck): void {
  say(
    strong(
      `${toVisible(file)} ${faults.length === 0 ? 'is good' : 'is NOT good'}. It is of ${header.created_at}.`,
    ),
  )
  for (const fault of faults) say(fault)
  say(
    `Restored in a temporary database in ${seconds.toFixed(1)} s: ${opened} records and pictures opened, ${toCount(auditRows, 'audit row')} read.`,
  )
}
