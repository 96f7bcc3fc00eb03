import type { Command } from 'commander'
import { dim, say, sayJson, strong, warn } from '../app/terminal.ts'
import { loadConfig } from '../config/config.ts'
import { toDatabaseText } from '../config/database-text.ts'
import { type Rotation, type RotationStep, rotateRoot } from '../registry/rotate.ts'
import { EXISTING, withCommandContext } from './command-context.ts'
import { createProgress } from './progress.ts'
import { requireConfirmation } from './prompt.ts'

type Options = { prepare?: boolean; yes?: true; json?: true }

export function addRotateRootCommand(keys: Command): void {
  keys
    .command('rotate-root')
    .description('give the root key a successor and seal every record anew, while servers run')
    .option(
      '--prepare',
      'only write the new root key beside the present one, for you to bring to other nodes',
    )
    .option('--yes', 'do not ask again; needed without a terminal')
    .option('--json', 'print an object for a program')
    .addHelpText(
      'after',
      `
With root.key in the data folder, this makes the new key and keeps both in the file until no record needs the old one.
With TABBAT_ROOT_KEY, set it to a new key and TABBAT_ROOT_KEY_PREVIOUS to the present one for every server, restart
them, and then run this.

It may be interrupted at any moment: run it again and it carries on. API keys go on working. An import that runs
meanwhile stops and is to be started again. See docs/keys.md.`,
    )
    .action(runRotateRoot)
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
    if (json) sayJson({ database: toDatabaseText(loadConfig()) }, toJson(rotation))
    else report(rotation)
  } finally {
    progress.clear()
  }
}

/** The old key leaves the file at the end, and may be nowhere else. */
const warnAboutBackups = (where: string) =>
  warn(
    `backups made until now open with the present root key only: keep a copy of ${where} as long as of them.`,
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
    say(`The last rotation had ended, but ${where} still held the old key. It is taken out now.`)
    say('Nothing else was to do. Run this again for another rotation.')
    return
  }
  if (outcome === 'prepared') {
    say(`The new root key stands on the first line of ${where}, the present one on the second.`)
    say('Copy the file to every node, then run: tabbat keys rotate-root')
    return
  }
  say(strong(`The root key is rotated: version ${version}.`))
  say(`${sealed.registry} rows of the registry and ${sealed.media} pictures were sealed anew.`)
  say(dim('What remains to do:'))
  for (const task of listTasks(rotation)) say(`  - ${task}`)
}

function listTasks({ origin, where }: Rotation): string[] {
  const place =
    origin === 'file'
      ? `Keep a copy of ${where}, apart from the backups. On other nodes, put the new file in place, too.`
      : 'Take TABBAT_ROOT_KEY_PREVIOUS away and restart the servers when it suits you.'
  return [
    place,
    'Make a new backup (tabbat backup FILE): older ones open with the old root key only.',
    'If the old root key leaked, roll the API keys (tabbat keys roll ID): what is hashed cannot be hashed anew, so it stays under keys made from the old one. See docs/keys.md.',
  ]
}
