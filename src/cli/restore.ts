import type { Command } from 'commander'
import { say, sayJson, strong } from '../app/terminal.ts'
import { restoreBackup } from '../backup/restore.ts'
import { type Config, loadConfig } from '../config/config.ts'
import { toDatabaseText } from '../config/database-text.ts'
import { openStore } from '../store/store.ts'
import { withCommandContext } from './command-context.ts'
import { refuseStrayDatabase, tellDatabase } from './database.ts'
import { createProgress } from './progress.ts'
import { requireConfirmation } from './prompt.ts'

type Options = { force?: boolean; yes?: true; json?: true }

export function addRestoreCommand(program: Command): void {
  program
    .command('restore')
    .description('fill the database from a backup, all of it or nothing')
    .argument('<file>', 'a file that tabbat backup wrote, from either kind of database')
    .option('--force', 'replace what is in the database; an audit log is never replaced')
    .option('--yes', 'with --force: do not ask again; needed without a terminal')
    .option('--json', 'print an object for a program')
    .addHelpText(
      'after',
      `
Put the root key of the backup in place first (root.key in the data folder, or TABBAT_ROOT_KEY), and stop the servers.
The file is checked from end to end before anything is changed. See docs/backup.md.`,
    )
    .action(runRestore)
}

async function runRestore(file: string, { force = false, yes, json }: Options): Promise<void> {
  const config = loadConfig()
  tellDatabase(config)
  await refuseStrayDatabase(config)
  if (force) await requireConfirmation('Replace what is in this database?', yes, 'Nothing was changed.')
  const { header, counts, place } = await restore(config, file, force)
  // The restored log may be older than the last checkpoint of this node; the trace, and the next checkpoint, say why.
  const trace = { phase: 'restored', outcome: 'ok', detail: `backup of ${header.created_at}` }
  await withCommandContext(({ audit }) => audit.record([trace]), {
    mustExist: true,
    acceptOlder: true,
    isTold: true,
  })
  if (json) {
    const database = toDatabaseText(config)
    return sayJson({ database }, { place, created_at: header.created_at, rows: counts })
  }
  const { registry = 0, media = 0, api_keys = 0 } = counts
  say(strong(`The backup of ${header.created_at} is restored to ${place}.`))
  say(`${registry} rows of the registry, ${media} pictures, ${api_keys} API keys. Start the servers now.`)
}

async function restore(config: Config, file: string, force: boolean) {
  const store = await openStore({ dataDir: config.dataDir, databaseUrl: config.databaseUrl })
  const progress = createProgress()
  try {
    const contents = await restoreBackup(config, store, file, { force, onProgress: progress.show })
    return { ...contents, place: store.place }
  } finally {
    progress.clear()
    await store.close()
  }
}
