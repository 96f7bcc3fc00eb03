import { join } from 'node:path'
import { Argument, type Command } from 'commander'
import { loadConfig } from '../context/config.ts'
import { KINDS, type Kind } from '../crypto/mac.ts'
import { SQLITE_FILE } from '../database/open-database.ts'
import { isReadOnly } from '../database/read-only-copy.ts'
import { readRegistryStats } from '../registry/stats.ts'
import { say, sayJson, toTable } from '../server/terminal.ts'
import { EXISTING, type ReadContext, withCommandContext, withStore } from './command-context.ts'
import { addHelp, EXIT_CODES, NUMBER_NOTE } from './help.ts'
import { type EraseOptions, runErase } from './person.ts'

export function addRegistryCommand(program: Command): void {
  const registry = program.command('registry').description('count your own records, and erase a person')
  addHelp(registry, {
    examples: { 'registry stats': 'count the records', 'registry erase nin': 'erase one person' },
  })

  const stats = registry
    .command('stats')
    .description('count the records, without decrypting any')
    .option('--json', 'print a JSON object')
    .action(({ json }: { json?: true }) => runStats(json))
  addHelp(stats, {
    details:
      'That it was counted is recorded in the audit log first, unless the database is on a read-only file system.',
    usesDatabase: true,
    exitCodes: EXIT_CODES,
    examples: { 'registry stats': 'a table', 'registry stats --json': 'a JSON object' },
  })

  const erase = registry
    .command('erase')
    .description('the same as "person erase": erase all data stored about one person')
    .addArgument(new Argument('<kind>', 'kind of number').choices(KINDS))
    .option('--reason <text>', 'reason, for the audit log; 10 to 200 characters, without names and numbers')
    .option('--yes', 'do not ask for confirmation; required without a terminal')
    .option('--json', 'print a JSON object')
    .action((kind: Kind, options: EraseOptions) => runErase(kind, options))
  addHelp(erase, {
    details: `${NUMBER_NOTE} The erasure is recorded in the audit log, which itself is not changed. See docs/people.md.`,
    usesDatabase: true,
    exitCodes: EXIT_CODES,
    examples: {
      'registry erase nin': 'ask for the NIN and for a confirmation',
      'registry erase bvn --yes --json < bvn.txt': 'for a program',
    },
  })
}

/** The counts name no person, so they can also be read where no row can be written. */
function runStats(json: true | undefined): Promise<void> {
  const { databaseUrl, dataDir } = loadConfig()
  if (databaseUrl === undefined && isReadOnly(join(dataDir, SQLITE_FILE)))
    return withStore((context) => showStats(context, json))
  return withCommandContext(async (context) => {
    await context.audit.record([{ phase: 'registry_counted', outcome: 'ok' }])
    await showStats(context, json)
  }, EXISTING)
}

async function showStats({ store, keyring, database }: ReadContext, json: true | undefined): Promise<void> {
  const stats = await readRegistryStats(store, keyring)
  if (json) return sayJson({ database }, stats)
  const { records, sealed_under } = stats
  say(
    toTable([
      ['what', 'count'],
      ...KINDS.map((kind) => [`${kind.toUpperCase()} records`, String(records[kind])]),
      ['pictures', String(stats.pictures)],
      ...Object.entries(sealed_under).map(([version, count]) => [
        `sealed under root key version ${version}`,
        String(count),
      ]),
    ]),
  )
  say(`\nThe data is in ${store.place}. The root key has version ${keyring.version}.`)
  if (stats.rotation_under_way)
    say('A rotation of the root key is in progress. If it was interrupted, run: tabbat keys rotate-root')
}
