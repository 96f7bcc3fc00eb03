import type { Command, Option } from 'commander'

/** A word that can be typed, and what it means. */
export type Word = { readonly text: string; readonly help: string }

/** A place on the command line: the commands typed so far, and what can follow. */
export type Place = {
  /** For example `tabbat keys`. */
  readonly path: string
  readonly commands: readonly Word[]
  readonly options: readonly Word[]
  /** The values of an option that takes one of a list, by the option. */
  readonly values: ReadonlyMap<string, readonly string[]>
  /** The values of the first argument, if they are a list. */
  readonly choices: readonly string[]
}

/** The command line as a flat list of places, hidden commands and options left out. */
export function listPlaces(command: Command, parent = ''): Place[] {
  const path = `${parent} ${command.name()}`.trim()
  const help = command.createHelp()
  const commands = help.visibleCommands(command)
  const options = help.visibleOptions(command)
  const place: Place = {
    path,
    commands: commands.map((inner) => ({
      text: inner.name(),
      help: toLine(help.subcommandDescription(inner)),
    })),
    options: options.map((option) => ({ text: toFlag(option), help: toLine(option.description) })),
    values: new Map(
      options.flatMap((option) => (option.argChoices ? [[toFlag(option), option.argChoices]] : [])),
    ),
    choices: command.registeredArguments[0]?.argChoices ?? [],
  }
  return [place, ...commands.flatMap((inner) => (inner.name() === 'help' ? [] : listPlaces(inner, path)))]
}

const toFlag = ({ long, short }: Option) => long ?? short ?? ''

/** Safe inside single quotes in every shell. */
const toLine = (text: string) => text.replaceAll(/\s+/g, ' ').replaceAll("'", '’')
