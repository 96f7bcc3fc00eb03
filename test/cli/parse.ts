import type { Command } from 'commander'
import { createFullProgram } from '../../src/cli/program.ts'

type NamedCommand = { readonly path: string; readonly command: Command }

/** Every visible command with its path, such as `tabbat keys create`. */
export function listCommands(command: Command, parent = ''): NamedCommand[] {
  const path = `${parent} ${command.name()}`.trim()
  const inner = command.createHelp().visibleCommands(command)
  return [{ path, command }, ...inner.flatMap((each) => (isGenerated(each) ? [] : listCommands(each, path)))]
}

/** commander adds a command "help" to every group. */
const isGenerated = (command: Command) => command.name() === 'help' && command.parent?.name() !== 'tabbat'

/** Runs the parser with all actions replaced, and returns the path of the command that would have run. */
export async function parse(line: string): Promise<string> {
  const program = await createFullProgram()
  let run = ''
  for (const { path, command } of listCommands(program)) {
    command.exitOverride().configureOutput({ writeErr: () => {} })
    if (command.commands.length === 0 || command.registeredArguments.length > 0)
      command.action(() => {
        run = path
      })
  }
  await program.parseAsync(toArguments(line), { from: 'user' })
  return run
}

/** The arguments that a shell would pass: without quotes, redirections, pipes and comments. */
const toArguments = (line: string) =>
  (
    line
      .replace(/ +#.*$/, '')
      .replace(/ (?:[<>|&]|\|\||&&)(?: .*)?$/, '')
      .match(/"[^"]*"|\S+/g)
      ?.map((word) => word.replaceAll('"', '')) ?? []
  ).slice(1)
