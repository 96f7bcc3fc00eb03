import { Argument, type Command } from 'commander'
import { KINDS, type Kind } from '../crypto/blind-index.ts'
import { addHelp, EXIT_CODES, NUMBER_NOTE } from './help.ts'
import { type EraseOptions, runErase, runEraseAgain, sayRemains } from './person-erase.ts'
import { addPersonReportCommand } from './person-report.ts'

export function addPersonCommand(program: Command): void {
  const person = program
    .command('person')
    .description('the rights of one person: a report of what is held and who asked, and erasure')
  addHelp(person, {
    examples: {
      'person report nin --reason "Request of access, case 17"': 'what is held, and who asked',
      'person erase nin --reason "Request of erasure, case 17"': 'erase one person',
    },
  })
  addPersonReportCommand(person)
  addEraseCommand(person)
  addEraseAgainCommand(person)
}

function addEraseCommand(person: Command): void {
  const erase = person
    .command('erase')
    .description(
      'erase all data stored about one person: record, picture, kept answers, pending questions, batch rows, reused results',
    )
    .addArgument(new Argument('<kind>', 'kind of number').choices(KINDS))
    .requiredOption(
      '--reason <text>',
      'reason, for the audit log; 10 to 200 characters, without names and numbers',
    )
    .option('--number-file <file>', 'file that holds the number')
    .option('--yes', 'do not ask for confirmation; required without a terminal')
    .option('--json', 'print a JSON object')
    .action((kind: Kind, options: EraseOptions) => runErase(kind, options, sayRemains))
  addHelp(erase, {
    details: `${NUMBER_NOTE} It prints what was erased, and what remains and why. The erasure is recorded in the audit log, which itself is not changed. See docs/people.md.`,
    usesDatabase: true,
    settings: ['TABBAT_CHECKPOINT_DIR'],
    exitCodes: EXIT_CODES,
    examples: {
      'person erase nin --reason "Request of erasure, case 17"': 'ask for the NIN and for a confirmation',
      'person erase bvn --reason "Request of erasure, case 17" --yes --json < bvn.txt': 'for a program',
    },
  })
}

function addEraseAgainCommand(person: Command): void {
  const again = person
    .command('erase-again')
    .description('apply the erasures of a file to this database, after a restore of an older copy')
    .argument('<path...>', 'erasures.log, or its folder')
    .option('--yes', 'do not ask for confirmation; required without a terminal')
    .option('--json', 'print a JSON object')
    .action(runEraseAgain)
  addHelp(again, {
    details:
      '"tabbat restore" does this itself where it finds the file. Erasures that the database knows are left out. See docs/people.md.',
    usesDatabase: true,
    settings: ['TABBAT_CHECKPOINT_DIR'],
    exitCodes: EXIT_CODES,
    examples: {
      'person erase-again /srv/tabbat.old': 'the file is in this folder',
      'person erase-again /copies/erasures.log --yes --json': 'for a program',
    },
  })
}
