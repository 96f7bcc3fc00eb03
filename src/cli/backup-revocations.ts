import { realpathSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Command } from 'commander'
import type { SignedFile } from '../audit/signed-file.ts'
import {
  type Applied,
  applyRevocations,
  countUnnoted,
  findRevocations,
  markNoted,
  toRevocationEntries,
  toRevocationText,
} from '../backup/find-revocations.ts'
import {
  type AccessTables,
  parseRevocations,
  REVOCATIONS_FILE,
  readAccess,
  readRevocationsFile,
  scanRevocations,
} from '../backup/revocations-file.ts'
import { createTables } from '../context/tables.ts'
import type { Keyring } from '../crypto/keyring.ts'
import { UserError } from '../errors.ts'
import { say, sayJson, toCount } from '../server/terminal.ts'
import { EXISTING, withCommandContext } from './command-context.ts'
import { addHelp } from './help.ts'
import { requireConfirmation } from './prompt.ts'

type Options = { apply?: true; yes?: true; json?: true }

export function addBackupRevocationsCommand(backup: Command): void {
  const command = backup
    .command('revocations')
    .description('show what was revoked after the backup that this database came from, and revoke it again')
    .argument('<path...>', 'revocations.log, or its folder')
    .option('--apply', 'revoke it again')
    .option('--yes', 'with --apply: do not ask for confirmation; required without a terminal')
    .option('--json', 'print a JSON object')
    // The parser gives --json to "backup", which has it too.
    .action((paths: string[], _options, self: Command) => run(paths, self.optsWithGlobals<Options>()))
  addHelp(command, {
    details:
      '"tabbat restore" does this itself where it finds the file. Use this command after a restore with the tools of PostgreSQL, before the servers start. It is about API keys, tokens of the admin API, accounts of the console and webhook endpoints. See docs/backup.md.',
    usesDatabase: true,
    exitCodes: { 0: 'nothing is left to revoke', 1: 'something is left, or the command failed' },
    examples: {
      'backup revocations /srv/tabbat.old': 'show what was revoked',
      'backup revocations /copies/revocations.log --apply': 'revoke it again, after a confirmation',
    },
  })
}

async function run(paths: readonly string[], { apply, yes, json }: Options): Promise<void> {
  await withCommandContext(async ({ store, keyring, audit, database }) => {
    const files = await readNamed(paths)
    if (apply) await requireConfirmation('Revoke all of it again?', yes, 'Nothing was changed.')
    const { revoked } = await store.database.transaction((tx) =>
      revokeAgain(createTables(tx), keyring, files, apply === true),
    )
    const entries = toRevocationEntries(revoked)
    if (entries.length > 0) await audit.record(entries)
    const left = revoked.filter((each) => each.left !== undefined && each.action !== 'look at').length
    if (left > 0) process.exitCode = 1
    if (json) return sayJson({ database }, { revocations: revoked.map(toRevocationJson) })
    for (const each of revoked) say(toRevocationText(each))
    say(`${toCount(revoked.length, 'change')} of access found, ${entries.length} made again.`)
  }, EXISTING)
}

export type Revoked = {
  readonly revoked: readonly Applied[]
  /** Revocations of the database that are not in the files. */
  readonly unnoted: number
}

/** What the files say and the database does not, which is applied or only shown. */
export async function revokeAgain(
  tables: AccessTables,
  keyring: Keyring,
  files: readonly SignedFile[],
  isApplied: boolean,
): Promise<Revoked> {
  const known = parseRevocations(files, keyring)
  const stored = await readAccess(tables, keyring)
  const found = findRevocations(known, stored)
  const unnoted = files.length > 0 ? countUnnoted(known, stored) : 0
  if (isApplied) {
    const revoked = await applyRevocations(tables, found)
    if (files.length > 0) await markNoted(tables, known)
    return { revoked, unnoted }
  }
  const left = 'it was revoked or restricted later. To apply that: tabbat backup revocations FILE --apply'
  return { revoked: found.map((each) => ({ ...each, left })), unnoted }
}

/** Files that this database has signed, and a sentence about each of the others. For those that are only shown. */
export function splitUnsigned(
  files: readonly SignedFile[],
  keyring: Keyring,
): { readonly signed: readonly SignedFile[]; readonly problems: readonly string[] } {
  const lines = new Map(files.map((file) => [file, scanRevocations(file, keyring).unsignedLine]))
  const signed = files.filter((file) => lines.get(file) === undefined)
  const problems = files
    .filter((file) => lines.get(file) !== undefined)
    .map(
      (file) =>
        `line ${lines.get(file)} of ${file.file} is not one that this database has signed: it was changed, or belongs to another root key. The file is left out.`,
    )
  return { signed, problems }
}

export const toRevocationJson = ({ action, access, left }: Applied) => ({
  kind: access.kind,
  id: access.reference,
  name: access.name,
  action,
  applied: left === undefined,
})

type Named = { readonly erasures?: readonly string[]; readonly revocations?: readonly string[] | false }

/** The files that are named, which must exist; or else those of this node and of the folders of the erasures that are named. */
export async function readRevocationsFiles(
  { erasures = [], revocations }: Named,
  folder: string,
): Promise<SignedFile[]> {
  if (Array.isArray(revocations)) return readNamed(revocations)
  const files = new Map<string, SignedFile>()
  for (const each of [folder, ...erasures.map(toFolder)]) {
    const found = await readRevocationsFile(join(each, REVOCATIONS_FILE))
    if (!found) continue
    const file = realpathSync(found.file)
    files.set(file, { ...found, file })
  }
  return [...files.values()]
}

const toFolder = (path: string) => (statSync(path).isDirectory() ? path : dirname(path))

async function readNamed(paths: readonly string[]): Promise<SignedFile[]> {
  const files: SignedFile[] = []
  for (const path of paths) {
    const file = await readRevocationsFile(path)
    if (!file) throw new UserError(`There is no ${REVOCATIONS_FILE} at ${path}. Nothing was changed.`)
    files.push(file)
  }
  return files
}
