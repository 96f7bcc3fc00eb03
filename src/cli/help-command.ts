import type { Command } from 'commander'
import { UserError } from '../errors.ts'
import { addHelp, EXIT_CODES } from './help.ts'

/** The program is loaded in full on demand: when this command is named, the others are not loaded. */
export const createAddHelpCommand =
  (createFullProgram: () => Promise<Command>) =>
  (program: Command): void => {
    const command = program
      .command('help')
      .description('print help for a command')
      .argument('[command...]', 'the command, for example: keys create')
      .action(async (names: readonly string[]) => {
        names.reduce(findCommand, await createFullProgram()).outputHelp()
      })
    addHelp(command, {
      exitCodes: EXIT_CODES,
      examples: { help: 'list the commands', 'help keys create': 'print all about one command' },
    })
  }

function findCommand(parent: Command, name: string): Command {
  const found = parent.commands.find((command) => command.name() === name)
  if (found) return found
  throw new UserError('There is no such command. Run "tabbat help" for the list.')
}
