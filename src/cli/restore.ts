import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Command } from 'commander'
import { ACKNOWLEDGED_FOLDER } from '../audit/acknowledged-file.ts'
import { recordIn, withAuthor } from '../audit/audit-log.ts'
import { CHECKPOINT_FILE } from '../audit/checkpoint-folder.ts'
import type { SignedFile } from '../audit/signed-file.ts'
import { createSigner } from '../audit/signing.ts'
import { type Applied, toRevocationEntries, toRevocationText } from '../backup/find-revocations.ts'
import type { Counts } from '../backup/format.ts'
import { restoreBackup } from '../backup/restore-backup.ts'
import { REVOCATIONS_FILE } from '../backup/revocations-file.ts'
import { type Config, loadConfig } from '../context/config.ts'
import { toDatabaseText } from '../context/database-text.ts'
import { openStore } from '../context/store.ts'
import { createTables } from '../context/tables.ts'
import { toCommandAuthor } from '../contract/free-text.ts'
import { UserError } from '../errors.ts'
import { eraseAgainIn, toAgainEntries } from '../people/erase-person.ts'
import {
  ERASURES_FILE,
  type ErasuresFile,
  readErasuresFiles,
  toErasureFolder,
} from '../people/erasures-file.ts'
import { say, sayJson, strong, toCount, warn } from '../server/terminal.ts'
import {
  type Revoked,
  readRevocationsFiles,
  revokeAgain,
  splitUnsigned,
  toRevocationJson,
} from './backup-revocations.ts'
import { onSchemaWait, withCommandContext } from './command-context.ts'
import { printDatabase, refuseStrayDatabase } from './database.ts'
import { addHelp } from './help.ts'
import { createProgress } from './progress.ts'
import { requireConfirmation } from './prompt.ts'

type Options = {
  force?: boolean
  yes?: true
  json?: true
  erasures?: readonly string[]
  /** False: --no-revocations. */
  revocations?: readonly string[] | false
}

export function addRestoreCommand(program: Command): void {
  const command = program
    .command('restore')
    .description('fill the database from a backup: all of it or nothing')
    .argument('<file>', 'file that "tabbat backup" wrote, from SQLite or PostgreSQL')
    .option('--force', 'replace the data in the database; an audit log is never replaced')
    .option(
      '--erasures <path...>',
      'erasures.log of the database, or its folder: people who were erased after the backup are erased again; default: TABBAT_CHECKPOINT_DIR, or the data folder',
    )
    .option(
      '--revocations <path...>',
      'revocations.log of the database, or its folder: what was revoked after the backup is revoked again; default: those beside the checkpoints and in the folders of --erasures',
    )
    .option('--no-revocations', 'only show what was revoked after the backup')
    .option('--yes', 'with --force: do not ask for confirmation; required without a terminal')
    .option('--json', 'print a JSON object')
    .action(runRestore)
  addHelp(command, {
    details:
      'First put the root key of the backup in place (root.key in the data folder, TABBAT_ROOT_KEY or TABBAT_ROOT_KEY_COMMAND), and stop the servers. The whole file is checked before anything is changed. See docs/backup.md.',
    usesDatabase: true,
    settings: ['TABBAT_ROOT_KEY_PREVIOUS'],
    exitCodes: {
      0: 'restored',
      1: 'nothing was restored; the reason is on standard error',
      2: 'restored, but no checkpoint of the audit log could be made afterwards',
    },
    examples: {
      'restore /backups/tabbat.backup --data-dir /srv/tabbat': 'restore into an empty data folder',
      'restore /backups/tabbat.backup --erasures /srv/tabbat.old':
        'erase people again who were erased after the backup',
      'restore /backups/tabbat.backup --revocations /copies/revocations.log':
        'revoke again what was revoked after the backup',
      'restore /backups/tabbat.backup --force --yes': 'replace the data without asking',
    },
  })
}

async function runRestore(file: string, options: Options): Promise<void> {
  const { force = false, yes, json, erasures } = options
  const config = loadConfig()
  const files = await readErasuresFiles(erasures, toErasureFolder(config))
  const found = await readRevocationsFiles(options, toErasureFolder(config))
  printDatabase(config)
  await refuseStrayDatabase(config)
  if (force) await requireConfirmation('Replace the data in this database?', yes, 'Nothing was changed.')
  const isApplied = options.revocations !== false
  const restored = await restore(config, file, { force, files, access: found, isApplied })
  const { header, counts, place, erasedAgain, missing, access, revoked, unnoted } = restored
  await signRestored(config)
  for (const problem of restored.problems) warn(problem)
  warnOfAccess(counts, header.created_at, access.length > 0)
  if (json) {
    const database = toDatabaseText(config)
    const again = { erasure_files: files.map((each) => each.file), erased_again: erasedAgain.length }
    const gaps = { erasures_missing: files.length > 0 ? missing : null }
    const since = {
      revocation_files: access.map((each) => each.file),
      revocations: revoked.map(toRevocationJson),
    }
    const facts = { place, created_at: header.created_at, rows: counts }
    return sayJson({ database }, { ...facts, ...again, ...gaps, ...since })
  }
  const { registry = 0, media = 0, api_keys = 0 } = counts
  say(strong(`The backup of ${header.created_at} is restored to ${place}.`))
  say(
    `${toCount(registry, 'row')} of the registry, ${toCount(media, 'picture')}, ${toCount(api_keys, 'API key')}.`,
  )
  if (config.databaseUrl === undefined) say('Start the servers now.')
  else say('If there are other nodes, run on each: tabbat audit accept-loss. Then start the servers.')
  sayErasures(files, erasedAgain.length, header.created_at)
  if (files.length > 0 && missing > 0) warnOfGaps(missing, header.created_at)
  if (access.length > 0) sayRevocations(revoked, unnoted)
}

function sayRevocations(revoked: readonly Applied[], unnoted: number): void {
  say(`${toCount(revoked.length, 'change')} of access after the backup, by ${REVOCATIONS_FILE}.`)
  for (const each of revoked) say(`  ${toRevocationText(each)}`)
  if (unnoted > 0)
    warn(
      `${toCount(unnoted, 'revocation')} of the backup ${unnoted === 1 ? 'is' : 'are'} not in ${REVOCATIONS_FILE}: the file was deleted or cut, and later ones may be missing, too. If you have another copy of it, run: tabbat backup revocations FILE`,
    )
}

/** A key that was revoked because it was stolen works again after a restore of an older backup. */
function warnOfAccess(
  { api_keys = 0, admin_tokens = 0, accounts = 0 }: Counts,
  backupTime: string,
  hasFile: boolean,
): void {
  if (api_keys + admin_tokens + accounts === 0) return
  if (hasFile)
    warn(`Passwords and second factors are those of ${backupTime}. What was changed later is valid again.`)
  else
    warn(
      `no ${REVOCATIONS_FILE} was found. API keys, tokens, accounts and second factors are those of ${backupTime}. What was revoked, removed or changed later is valid again. Before you start the servers, check: tabbat keys list, tabbat tokens list, tabbat admin list`,
    )
}

function sayErasures(files: readonly ErasuresFile[], count: number, backupTime: string): void {
  if (files.length > 0)
    say(`${toCount(count, 'erasure')} of ${files.map(({ file }) => file).join(', ')} applied again.`)
  else
    warn(
      `no ${ERASURES_FILE} was found. If people were erased after ${backupTime}, they are back. If you have the file, run: tabbat person erase-again FILE`,
    )
}

const warnOfGaps = (missing: number, backupTime: string) =>
  warn(
    `${toCount(missing, 'erasure')} of the backup ${missing === 1 ? 'is' : 'are'} not in ${ERASURES_FILE}: the file was deleted or cut. Those of the backup hold. If people were erased after ${backupTime} and are not in the file, they are back. If you have another copy of it, run: tabbat person erase-again FILE`,
  )

type Given = {
  readonly force: boolean
  readonly files: readonly ErasuresFile[]
  readonly access: readonly SignedFile[]
  /** Else what was revoked is only shown. */
  readonly isApplied: boolean
}

async function restore(config: Config, file: string, { force, files, access, isApplied }: Given) {
  const store = await openStore({ dataDir: config.dataDir, databaseUrl: config.databaseUrl, onSchemaWait })
  const progress = createProgress()
  try {
    let erasures: Awaited<ReturnType<typeof eraseAgainIn>> = { erasedAgain: [], missing: 0 }
    let revocations: Revoked = { revoked: [], unnoted: 0 }
    let checked: ReturnType<typeof splitUnsigned> = { signed: access, problems: [] }
    const contents = await restoreBackup(config, store, file, {
      force,
      onProgress: progress.show,
      afterRows: async (tx, keyring, { created_at }) => {
        const tables = createTables(tx)
        erasures = await eraseAgainIn(tx, keyring, files)
        if (!isApplied) checked = splitUnsigned(access, keyring)
        revocations = await revokeAgain(tables, keyring, checked.signed, isApplied)
        const entries = [
          { phase: 'restored', outcome: 'ok', detail: `backup of ${created_at}` },
          ...toAgainEntries(erasures.erasedAgain, 'again after a restore'),
          ...toRevocationEntries(revocations.revoked),
        ]
        const signer = createSigner(keyring['audit-signing'])
        const log = { table: tables.audit, signer, dataDir: config.dataDir }
        await recordIn(log, withAuthor(entries, toCommandAuthor()))
      },
    })
    const { signed, problems } = checked
    return { ...contents, place: store.place, ...erasures, ...revocations, access: signed, problems }
  } finally {
    progress.clear()
    await store.close()
  }
}

const RESTORED_UNSIGNED = 2

/**
 * The restored log may be older than the last checkpoint of this node. Its row about the restore and a new checkpoint explain it.
 * All is committed by now, so a failure must not look like one of the restore.
 */
async function signRestored(config: Config): Promise<void> {
  const opening = { mustExist: true, acceptOlder: true, isPrinted: true }
  let reason = `${toErasureFolder(config)} cannot be written`
  try {
    await rm(join(config.dataDir, ACKNOWLEDGED_FOLDER), { recursive: true, force: true })
    const signedAt = await withCommandContext(async ({ auditLog }) => {
      await auditLog.checkpoint()
      return auditLog.checkpointedAt
    }, opening)
    if (signedAt !== undefined) return
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException
    reason = error instanceof UserError ? error.message.replace(/\.$/, '') : code
  }
  process.exitCode = RESTORED_UNSIGNED
  warn(
    `the data is restored and recorded, but no checkpoint could be made (${reason}). Do not restore again. If a server refuses the log as older than ${CHECKPOINT_FILE}, move that file away.`,
  )
}
