import { Argument, type Command } from 'commander'
import { say, sayJson, toTable } from '../app/terminal.ts'
import { readPersonNumber } from '../contract/virtual-nin.ts'
import { KINDS, type Kind } from '../crypto/blind-index.ts'
import { UserError } from '../errors.ts'
import { readRegistryStats } from '../registry/stats.ts'
import type { Erased } from '../store/erasure-table.ts'
import { erasePerson, isAnything, listErased } from '../people/erase-person.ts'
import { EXISTING, type ReadContext, withCommandContext, withStore } from './command-context.ts'
import { addHelp, EXIT_CODES, NUMBER_NOTE } from './help.ts'
import { readSecret, requireConfirmation } from './prompt.ts'

export function addRegistryCommand(program: Command): void {
  const registry = program.command('registry').description('count your own records, and erase a person')
  addHelp(registry, {
    examples: { 'registry stats': 'count the records', 'registry erase nin': 'erase one person' },
  })

  const stats = registry
    .command('stats')
    .description('count the records, without decrypting any')
    .option('--json', 'print a JSON object')
    .action((options: { json?: true }) => withStore((context) => showStats(context, options.json)))
  addHelp(stats, {
    usesDatabase: true,
    exitCodes: EXIT_CODES,
    examples: { 'registry stats': 'a table', 'registry stats --json': 'a JSON object' },
  })

  const erase = registry
    .command('erase')
    .description(
      'erase all data stored about one person: record, picture, stored responses, reused results, pending verifications, rows of batches',
    )
    .addArgument(new Argument('<kind>', 'kind of number').choices(KINDS))
    .option('--yes', 'do not ask for confirmation; required without a terminal')
    .option('--json', 'print a JSON object')
    .action(runErase)
  addHelp(erase, {
    details: `${NUMBER_NOTE} The erasure is recorded in the audit log, which itself is not changed. See docs/import.md.`,
    usesDatabase: true,
    exitCodes: EXIT_CODES,
    examples: {
      'registry erase nin': 'ask for the NIN and for a confirmation',
      'registry erase bvn --yes --json < bvn.txt': 'for a program',
    },
  })
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

async function runErase(kind: Kind, { yes, json }: { yes?: true; json?: true }): Promise<void> {
  const number = readPersonNumber(kind, (await readSecret(`${kind.toUpperCase()} (not shown): `)).trim())
  if (number === undefined)
    throw new UserError(
      `A ${kind.toUpperCase()} has 11 digits. Give one number, on standard input or at the prompt.`,
    )
  const question = `Permanently erase all data stored about this ${kind.toUpperCase()}?`
  await withCommandContext(async (context) => {
    await requireConfirmation(question, yes, 'Nothing was erased.')
    const erased = await erasePerson(context, kind, number)
    if (json) return sayJson(context, toJson(erased))
    if (isAnything(erased)) return say(`Erased: ${listErased(erased)}.`)
    say(`No data is stored about this ${kind.toUpperCase()}. Nothing was erased.`)
  }, EXISTING)
}

const toJson = (erased: Erased) => ({
  erased: isAnything(erased),
  records: erased.records,
  pictures: erased.pictures,
  kept_answers: erased.keptAnswers,
  reused_results: erased.reusedResults,
  queued_verifications: erased.queued,
})
