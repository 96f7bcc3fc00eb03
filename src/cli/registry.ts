import { Argument, type Command } from 'commander'
import { say, sayJson, toTable } from '../app/terminal.ts'
import { KINDS, type Kind } from '../crypto/blind-index.ts'
import { UserError } from '../errors.ts'
import { readRegistryStats } from '../registry/stats.ts'
import type { Erased } from '../store/erasure-table.ts'
import { erasePerson, isAnything, listErased } from '../verification/erase-person.ts'
import { EXISTING, type Opened, withCommandContext, withStore } from './command-context.ts'
import { readSecret, requireConfirmation } from './prompt.ts'

export function addRegistryCommand(program: Command): void {
  const registry = program.command('registry').description('look at your own records, and erase one')

  registry
    .command('stats')
    .description('count the records, without opening one')
    .option('--json', 'print an object for a program')
    .action((options: { json?: true }) => withStore((sealed) => showStats(sealed, options.json)))

  registry
    .command('erase')
    .description(
      'remove everything that is kept about one person: record, picture, kept answers, reused results',
    )
    .addArgument(new Argument('<kind>', 'which number you will give').choices(KINDS))
    .option('--yes', 'do not ask again; needed without a terminal')
    .option('--json', 'print an object for a program')
    .addHelpText(
      'after',
      `
The number is read from standard input, or asked for on a terminal without being shown. It is not taken from the
command line, which others on this machine can see.`,
    )
    .action(runErase)
}

async function showStats({ store, keyring, database }: Opened, json: true | undefined): Promise<void> {
  const stats = await readRegistryStats(store, keyring)
  if (json) return sayJson({ database }, stats)
  const { records, sealed_under } = stats
  say(
    toTable([
      ['what', 'how many'],
      ...KINDS.map((kind) => [`${kind.toUpperCase()} records`, String(records[kind])]),
      ['pictures', String(stats.pictures)],
      ...Object.entries(sealed_under).map(([version, count]) => [
        `sealed under root key version ${version}`,
        String(count),
      ]),
    ]),
  )
  say(`\nThe data lies at ${store.place}; the root key is at version ${keyring.version}.`)
  if (stats.rotation_under_way)
    say('A rotation of the root key is under way. If it was interrupted, run: tabbat keys rotate-root')
}

async function runErase(kind: Kind, { yes, json }: { yes?: true; json?: true }): Promise<void> {
  const number = (await readSecret(`${kind.toUpperCase()} (not shown): `)).trim()
  if (!/^[0-9]{11}$/.test(number))
    throw new UserError(
      `A ${kind.toUpperCase()} has 11 digits: give one number, on standard input or when asked.`,
    )
  const question = `Erase everything that is kept about this ${kind.toUpperCase()} for good?`
  await withCommandContext(async (office) => {
    await requireConfirmation(question, yes, 'Nothing was erased.')
    const erased = await erasePerson(office, kind, number)
    if (json) return sayJson(office, toJson(erased))
    if (isAnything(erased)) return say(`Erased: ${listErased(erased)}.`)
    say(`Nothing is kept about this ${kind.toUpperCase()}; nothing was erased.`)
  }, EXISTING)
}

const toJson = (erased: Erased) => ({
  erased: isAnything(erased),
  records: erased.records,
  pictures: erased.pictures,
  kept_answers: erased.keptAnswers,
  reused_results: erased.reusedResults,
})
