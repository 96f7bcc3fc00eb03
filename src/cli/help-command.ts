import type { Command } from 'commander'
import { UserError } from '../errors.ts'
import { print } from '../server/terminal.ts'
import { addHelp, EXIT_CODES } from './help.ts'
import { toManPage } from './man-page.ts'

/** The program is loaded in full on demand: when this command is named, the others are not loaded. */
export const createAddHelpCommand =
  (createFullProgram: () => Promise<Command>) =>
  (program: Command): void => {
    const command = program
      .command('help')
      .description('print help for a command')
      .argument('[command...]', 'the command, for example: keys create')
      .option('--man', 'print the manual page of all commands, for man(1)')
      .action(async (names: readonly string[], { man }: { man?: true }) => {
        const full = await createFullProgram()
        if (man) print(toManPage(full))
        else names.reduce(findCommand, full).outputHelp()
      })
    addHelp(command, {
      exitCodes: EXIT_CODES,
      examples: {
        help: 'list the commands',
        'help keys create': 'print all about one command',
        'help --man > tabbat.1': 'a manual page; "man ./tabbat.1" shows it',
      },
    })
  }

function findCommand(parent: Command, name: string): Command {
  const found = parent.commands.find((command) => command.name() === name)
  if (found) return found
  throw new UserError('There is no such command. Run "tabbat help" for the list.')
}
