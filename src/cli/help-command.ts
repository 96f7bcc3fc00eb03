import type { Command, Help } from 'commander'
import { UserError } from '../errors.ts'
import { print } from '../server/terminal.ts'
import { VERSION } from '../version.ts'
import { addHelp, EXIT_CODES, sectionsOf } from './help.ts'

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

/** The help of all commands as a manual page, for man(1). */
export function toManPage(program: Command): string {
  const { details = '', examples = {} } = sectionsOf(program)
  return [
    `.TH TABBAT 1 "" "Tabbat ${VERSION}" "User Commands"`,
    // Commands that are copied have no hyphens at the ends of lines, and no wide spaces.
    '.nh',
    '.ad l',
    '.SH NAME',
    `tabbat \\- ${toText(program.description().replace(/^A /, 'a ').replace(/\.$/, ''))}`,
    '.SH SYNOPSIS',
    '.B tabbat',
    '[options] [command]',
    '.SH DESCRIPTION',
    ...toParagraphs(details),
    ...toItems(listOptions(program.createHelp(), program)),
    '.SH COMMANDS',
    ...program
      .createHelp()
      .visibleCommands(program)
      .flatMap((command) => toCommandLines(command, 'tabbat')),
    '.SH EXAMPLES',
    ...toExamples(examples),
    '.SH FILES',
    ...toItems([
      ['.env', 'settings, in the folder in which a command runs; the environment wins'],
      ['./data', 'the SQLite database and the root key, unless TABBAT_DATA_DIR names another folder'],
      ['/etc/tabbat/tabbat.env', 'settings of the service that the Debian package installs'],
      ['/var/lib/tabbat', 'data of this service'],
    ]),
    '',
  ].join('\n')
}

function toCommandLines(command: Command, parent: string): string[] {
  const path = `${parent} ${command.name()}`
  const help = command.createHelp()
  const { details = '', settings = [], exitCodes = {}, examples = {} } = sectionsOf(command)
  const inner = help.visibleCommands(command).filter((each) => each.name() !== 'help')
  return [
    `.SS "${toText(`${path} ${command.usage()}`)}"`,
    ...toParagraphs(command.description()),
    '.PP',
    ...toParagraphs(details),
    ...toItems(command.registeredArguments.map((each) => [each.name(), each.description])),
    ...toItems(listOptions(help, command)),
    ...(settings.length === 0 ? [] : ['.PP', toText(`Settings: ${settings.join(', ')}.`)]),
    ...(Object.keys(exitCodes).length === 0 ? [] : ['.PP', 'Exit codes:']),
    ...toItems(Object.entries(exitCodes)),
    ...toExamples(examples),
    ...inner.flatMap((each) => toCommandLines(each, path)),
  ]
}

/** Those that every command has are described once. */
const listOptions = (help: Help, command: Command): [string, string][] =>
  help
    .visibleOptions(command)
    .filter((option) => command.parent === null || option.long !== '--help')
    .map((option) => [help.optionTerm(option), help.optionDescription(option)])

const toItems = (items: readonly (readonly [string, string])[]) =>
  items.flatMap(([term, text]) => ['.TP', `.B ${toText(term)}`, toText(text)])

const toParagraphs = (text: string) =>
  text === ''
    ? []
    : text.split('\n\n').flatMap((each, index) => (index === 0 ? [toText(each)] : ['.PP', toText(each)]))

const toExamples = (examples: Readonly<Record<string, string>>) =>
  Object.entries(examples).flatMap(([line, meaning]) => [
    '.PP',
    `${toText(meaning)}:`,
    '.PP',
    '.RS',
    '.nf',
    toText(`tabbat ${line}`),
    '.fi',
    '.RE',
  ])

/** A backslash, a hyphen and a quote have other meanings, and so has a point or an apostrophe at the start of a line. */
const toText = (text: string) =>
  text
    .trim()
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll('"', '\\(dq')
    .replaceAll("'", '\\(aq')
    .replaceAll(/^\./gm, '\\&.')
