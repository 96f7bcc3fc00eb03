import type { Command, Option } from 'commander'

/** A command, and what can be typed after it. */
export type CommandNode = {
  /** For example `tabbat keys`. */
  readonly path: string
  readonly commands: readonly Word[]
  readonly options: readonly Word[]
  /** The choices of each option that has them. */
  readonly values: ReadonlyMap<string, readonly string[]>
  /** The choices of the arguments that have them. */
  readonly choices: readonly string[]
  /** An argument is a file. Then options are offered only after a hyphen, and files otherwise. */
  readonly takesFile: boolean
}

/** A word that can be typed, and what it means. */
export type Word = { readonly text: string; readonly help: string }

/** All visible commands as a flat list, parents first. */
export function listCommandNodes(command: Command, parent = ''): CommandNode[] {
  const path = `${parent} ${command.name()}`.trim()
  const help = command.createHelp()
  const commands = help.visibleCommands(command)
  const options = help.visibleOptions(command)
  const node: CommandNode = {
    path,
    commands: commands.map((inner) => ({
      text: inner.name(),
      help: toLine(help.subcommandDescription(inner)),
    })),
    options: options.map((option) => ({ text: toFlag(option), help: toLine(option.description) })),
    values: new Map(
      options.flatMap((option) => (option.argChoices ? [[toFlag(option), option.argChoices]] : [])),
    ),
    choices: command.registeredArguments.flatMap(({ argChoices }) => argChoices ?? []),
    takesFile: command.registeredArguments.some((argument) => argument.name() === 'file'),
  }
  return [
    node,
    ...commands.flatMap((inner) => (inner.name() === 'help' ? [] : listCommandNodes(inner, path))),
  ]
}

const toFlag = ({ long, short }: Option) => long ?? short ?? ''

/** Safe inside single quotes in every shell. */
const toLine = (text: string) => text.replaceAll(/\s+/g, ' ').replaceAll("'", '’')
