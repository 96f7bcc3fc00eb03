import type { Command } from 'commander'
import { loadConfig } from '../context/config.ts'
import { toDatabaseText } from '../context/database-text.ts'
import { type Rotation, type RotationStep, rotateRoot } from '../registry/rotate.ts'
import { dim, say, sayJson, strong, warn } from '../server/terminal.ts'
import { EXISTING, withCommandContext } from './command-context.ts'
import { addHelp, EXIT_CODES } from './help.ts'
import { createProgress } from './progress.ts'
import { requireConfirmation } from './prompt.ts'

type Options = { prepare?: boolean; yes?: true; json?: true }

export function addRotateRootCommand(keys: Command): void {
  const command = keys
    .command('rotate-root')
    .description('replace the root key and seal every record under the new one, while servers run')
    .option('--prepare', 'only write the new root key beside the current one, to be copied to other nodes')
    .option('--yes', 'do not ask for confirmation; required without a terminal')
    .option('--json', 'print a JSON object')
    .action(runRotateRoot)
  addHelp(command, {
    details:
      'With root.key in the data folder, this creates the new key and keeps both keys in the file until no record needs the old one. With TABBAT_ROOT_KEY, first set TABBAT_ROOT_KEY to a new key and TABBAT_ROOT_KEY_PREVIOUS to the current one for every server, and restart the servers. With TABBAT_ROOT_KEY_COMMAND, first let the command print a new key and then the current one, for every server.\n\nAPI keys stay valid. It can be interrupted at any time: run it again to continue. An import that is running stops; start it again afterwards. See docs/keys.md.',
    usesDatabase: true,
    settings: ['TABBAT_ROOT_KEY_PREVIOUS'],
    exitCodes: EXIT_CODES,
    examples: {
      'keys rotate-root': 'ask, then rotate',
      'keys rotate-root --prepare': 'with several nodes: write the new key, then copy root.key to each',
    },
  })
}

async function runRotateRoot({ prepare = false, yes, json }: Options): Promise<void> {
  const progress = createProgress()
  try {
    const rotation = await withCommandContext(async ({ config, store, rootKeys, audit }) => {
      if (rootKeys.origin === 'file' && !prepare) warnAboutBackups(rootKeys.where)
      if (!prepare) await requireConfirmation('Rotate the root key now?', yes, 'Nothing was changed.')
      const options = {
        prepareOnly: prepare,
        onStep: (step: RotationStep) => step.at === 'sealing' && progress.show(step.done, step.total),
      }
      await audit.record([{ phase: 'root_rotation_started' }])
      const done = await rotateRoot(config, { store }, options)
      await audit.record([
        { phase: 'root_rotated', outcome: done.outcome, detail: `version ${done.version}` },
      ])
      return done
    }, EXISTING)
    progress.clear()
    if (!rotation.isWalEmptied)
      warn(
        'rows that are sealed under the old root key remain in tabbat.db-wal, the write-ahead log of SQLite, because another process, such as a backup, was reading the database. They go when the log is overwritten, or the servers are restarted.',
      )
    if (json) sayJson({ database: toDatabaseText(loadConfig()) }, toJson(rotation))
    else report(rotation)
  } finally {
    progress.clear()
  }
}

/** At the end the old key is removed from the file, which may hold the only copy. */
const warnAboutBackups = (where: string) =>
  warn(
    `existing backups open with the current root key only. Keep a copy of ${where} as long as you keep them.`,
  )

const toJson = ({ outcome, version, sealed, resumed }: Rotation) => ({
  outcome,
  root_version: version,
  resumed,
  rows_sealed: sealed.registry,
  pictures_sealed: sealed.media,
})

function report(rotation: Rotation): void {
  const { outcome, version, sealed, where } = rotation
  if (outcome === 'tidied') {
    say(`The last rotation was complete, but ${where} still held the old key. The old key is removed now.`)
    say('Nothing else was changed. Run this again to rotate the key.')
    return
  }
  if (outcome === 'prepared') {
    say(`The new root key is on the first line of ${where}, the current one on the second.`)
    say('Copy the file to every node, then run: tabbat keys rotate-root')
    return
  }
  say(strong(`The root key is rotated: version ${version}.`))
  say(`${sealed.registry} records of the registry and ${sealed.media} pictures are sealed under the new key.`)
  say(dim('Next steps:'))
  for (const task of listTasks(rotation)) say(`  - ${task}`)
}

const PLACES = {
  file: (where: string) =>
    `Keep a copy of ${where}, away from the backups. Copy the file to every other node.`,
  setting: () => 'Remove TABBAT_ROOT_KEY_PREVIOUS and restart the servers at your next opportunity.',
  command: () =>
    'Let TABBAT_ROOT_KEY_COMMAND print the new key only. Keep a copy of it, away from the backups.',
}

function listTasks({ origin, where }: Rotation): string[] {
  return [
    PLACES[origin](where),
    'Make a new backup (tabbat backup FILE): older backups open with the old root key only.',
    'If the old root key leaked, roll the API keys (tabbat keys roll ID): their hashes still use keys derived from the old root key. See docs/keys.md.',
  ]
}
