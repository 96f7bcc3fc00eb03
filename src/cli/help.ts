import type { Command, Help } from 'commander'
import { listSettings } from '../context/config.ts'

/** What `tabbat help <command>` prints below the options. */
type HelpSections = {
  /** Paragraphs about what the command does, separated by an empty line. */
  readonly details?: string
  /** The command opens the database. */
  readonly usesDatabase?: true
  /** Settings that change what the command does, besides those of the database. */
  readonly settings?: readonly string[]
  /** Exit codes of a command that can be run; a group of commands has none. */
  readonly exitCodes?: Readonly<Record<number, string>>
  /** Command lines without the leading `tabbat`, and what each does. */
  readonly examples: Readonly<Record<string, string>>
}

/** Exit codes of a command without special outcomes. */
export const EXIT_CODES = { 0: 'done', 1: 'not done; the reason is on standard error' } as const

/** For commands that take a NIN or BVN. */
export const NUMBER_NOTE =
  'The number is read from standard input, or at a prompt that does not show it. It is not taken from the command line, because other users of this machine can read command lines.'

const DATABASE_SETTINGS = [
  'TABBAT_DATA_DIR',
  'TABBAT_DATABASE_URL',
  'TABBAT_ROOT_KEY',
  'TABBAT_ROOT_KEY_COMMAND',
]
const DATABASE_NOTE = 'The database in use is printed on standard error ("Database: …").'
const DATABASE_FIELD_NOTE = `${DATABASE_NOTE} With --json, it is also in the field "database" of the object.`

const described = new WeakMap<Command, HelpSections>()

/** What was given to `addHelp`. */
export const sectionsOf = (command: Command): HelpSections => described.get(command) ?? { examples: {} }

export function addHelp(command: Command, sections: HelpSections): Command {
  described.set(command, sections)
  const isGroup = sections.exitCodes === undefined && command.parent !== null
  if (isGroup) command.helpCommand('help [command]', 'print help for a command')
  return command.addHelpText('after', () => toHelpText(command))
}

/** What the help of a command says besides its arguments and options. */
type HelpParts = {
  readonly paragraphs: readonly string[]
  readonly settings: readonly (readonly [env: string, text: string])[]
  readonly exitCodes: readonly (readonly [code: string, meaning: string])[]
  readonly examples: readonly (readonly [line: string, meaning: string])[]
}

export function toHelpParts(command: Command): HelpParts {
  const { details, usesDatabase, settings = [], exitCodes = {}, examples } = sectionsOf(command)
  return {
    paragraphs: [...(details?.split('\n\n') ?? []), ...(usesDatabase ? [toDatabaseNote(command)] : [])],
    settings: [...(usesDatabase ? DATABASE_SETTINGS : []), ...settings].map(toSetting),
    exitCodes: Object.entries(exitCodes),
    examples: Object.entries(examples).map(([line, meaning]) => [`tabbat ${line}`, meaning]),
  }
}

function toHelpText(command: Command): string {
  const { paragraphs, settings, exitCodes, examples } = toHelpParts(command)
  const help = command.createHelp()
  help.prepareContext({ helpWidth: process.stdout.columns ?? 80 })
  return [
    ...paragraphs.map((text) => `\n${isCommandLine(text) ? text : help.boxWrap(text, help.helpWidth ?? 80)}`),
    ...toList(help, 'Settings (see docs/configuration.md):', settings),
    ...toList(help, 'Exit codes:', exitCodes),
    '\nExamples:',
    ...examples.map(([line, meaning]) => `  ${line}\n      ${meaning}`),
  ].join('\n')
}

/** An indented paragraph is a command line to copy: a line break inside would split the command. */
export const isCommandLine = (text: string) => text.startsWith('  ')

/** Commands that print a JSON array, or have no --json, have no field to put the database in. */
function toDatabaseNote(command: Command): string {
  const json = command.options.find(({ long }) => long === '--json')
  return json?.description.includes('object') ? DATABASE_FIELD_NOTE : DATABASE_NOTE
}

function toList(help: Help, title: string, items: readonly (readonly [string, string])[]): string[] {
  if (items.length === 0) return []
  const width = Math.max(...items.map(([name]) => name.length))
  return [`\n${title}`, ...items.map(([name, text]) => help.formatItem(name, width, text, help))]
}

/** A setting with the first sentence of its description. */
function toSetting(env: string): [string, string] {
  const text = listSettings().find((setting) => setting.env === env)?.help ?? ''
  return [env, /^.*?\.(?=\s|$)/.exec(text)?.[0] ?? text]
}
