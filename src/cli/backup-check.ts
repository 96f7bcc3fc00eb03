import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Command } from 'commander'
import { type CheckedBackup, checkBackup } from '../backup/check-backup.ts'
import { loadConfig } from '../context/config.ts'
import { say, strong, toCount } from '../server/terminal.ts'
import { openStore } from '../store/store.ts'
import { addHelp } from './help.ts'
import { createProgress } from './progress.ts'

type Options = { databaseUrl?: string; json?: true }

const SIGNAL_EXIT_CODES = { SIGINT: 130, SIGTERM: 143 } as const

export function addBackupCheckCommand(backup: Command): void {
  const command = backup
    .command('check')
    .description('restore a backup into a temporary database, and check all of it')
    .argument('<file>', 'file that "tabbat backup" wrote')
    .option('--database-url <url>', 'an empty PostgreSQL database to restore into, instead of SQLite')
    .option('--json', 'print a JSON object')
    // The parser gives --json to "backup", which has it too.
    .action((file: string, _options, self: Command) => runCheck(file, self.optsWithGlobals<Options>()))
  addHelp(command, {
    details:
      'It compares the number of rows of every table, opens every record and picture with the root key, and verifies the audit log. Your database is not touched. SQLite is used in a temporary folder (TMPDIR), which needs about twice the size of the data and is deleted afterwards, also after Ctrl-C. A PostgreSQL database keeps what was restored: drop it afterwards.',
    settings: ['TABBAT_ROOT_KEY', 'TABBAT_ROOT_KEY_PREVIOUS'],
    exitCodes: {
      0: 'the backup is good',
      1: 'it is not, or could not be checked',
      130: 'interrupted by Ctrl-C',
      143: 'interrupted by SIGTERM',
    },
    examples: {
      'backup check /backups/tabbat.backup': 'check a backup',
      'backup check --json /backups/tabbat.backup --database-url postgres://127.0.0.1/scratch':
        'check it on PostgreSQL, for a job',
    },
  })
}

async function runCheck(file: string, { databaseUrl, json }: Options): Promise<void> {
  const startedAt = performance.now()
  const checked = await withScratchFolder((folder) => checkIn(folder, databaseUrl, file))
  const seconds = (performance.now() - startedAt) / 1000
  if (checked.faults.length > 0) process.exitCode = 1
  if (json) say(toJson(file, checked, seconds))
  else report(file, checked, seconds)
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

function toJson(file: string, { header, counts, ...checked }: CheckedBackup, seconds: number): string {
  return JSON.stringify({
    file,
    good: checked.faults.length === 0,
    created_at: header.created_at,
    rows: counts,
    opened: checked.opened,
    audit_rows: checked.auditRows,
    seconds: Number(seconds.toFixed(3)),
    faults: checked.faults,
  })
}

function report(file: string, { header, opened, auditRows, faults }: CheckedBackup, seconds: number): void {
  say(strong(`${file} ${faults.length === 0 ? 'is good' : 'is NOT good'}. It is of ${header.created_at}.`))
  for (const fault of faults) say(fault)
  say(
    `Restored in a temporary database in ${seconds.toFixed(1)} s: ${opened} records and pictures opened, ${toCount(auditRows, 'audit row')} read.`,
  )
}
