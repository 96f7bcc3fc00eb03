import { statSync } from 'node:fs'
import type { Command } from 'commander'
import { say, sayJson, strong, warn } from '../app/terminal.ts'
import { type Backup, writeBackup } from '../backup/backup.ts'
import { toRootKeyPath } from '../crypto/root-key.ts'
import { type CommandContext, EXISTING, withCommandContext } from './command-context.ts'
import { createProgress } from './progress.ts'

type Options = { force?: boolean; json?: true }

export function addBackupCommand(program: Command): void {
  program
    .command('backup')
    .description('write all data to one file, as it is at one moment, while servers run')
    .argument('<file>', 'the file to write; it appears when it is complete')
    .option('--force', 'replace the file if there is one')
    .option('--json', 'print an object for a program')
    .addHelpText(
      'after',
      `
The file can be restored into SQLite or PostgreSQL, whichever it came from: tabbat restore FILE.
It does not contain the root key, without which nobody can open it. Keep that elsewhere. See docs/backup.md.`,
    )
    .action(runBackup)
}

async function runBackup(file: string, { force = false, json }: Options): Promise<void> {
  await withCommandContext(async ({ config, store, audit, database }) => {
    const backup = await writeRecorded({ store, audit }, file, force)
    report(file, backup, json && { database })
    const where = config.rootKey === undefined ? toRootKeyPath(config.dataDir) : 'TABBAT_ROOT_KEY'
    warn(
      `the root key is NOT in the backup (it is in ${where}). Without it nobody can open the backup, not even you: keep a copy of the root key, and not beside the backup.`,
    )
  }, EXISTING)
}

/** The audit row comes first: it is in the backup, too. */
async function writeRecorded(
  { store, audit }: Pick<CommandContext, 'store' | 'audit'>,
  file: string,
  force: boolean,
): Promise<Backup> {
  const progress = createProgress()
  await audit.record([{ phase: 'backup_written', outcome: 'ok' }])
  try {
    return await writeBackup(store, file, { force, onProgress: progress.show })
  } catch (error) {
    await audit.record([{ phase: 'backup_written', outcome: 'failed' }]).catch(() => {})
    throw error
  } finally {
    progress.clear()
  }
}

function report(file: string, { header, counts }: Backup, json: { database: string } | undefined): void {
  const bytes = statSync(file).size
  if (json) {
    const { root_fingerprint, created_at, schema } = header
    sayJson(json, { file, bytes, created_at, schema, root_fingerprint, rows: counts })
    return
  }
  const { registry = 0, media = 0, api_keys = 0 } = counts
  say(strong(`The backup is complete: ${file} (${(bytes / 1e6).toFixed(1)} MB)`))
  say(
    `${registry} rows of the registry, ${media} pictures, ${api_keys} API keys, as of ${header.created_at}.`,
  )
}
