import { type ParseArgsConfig, type ParseArgsOptionsConfig, parseArgs } from 'node:util'

type Read<O extends ParseArgsOptionsConfig> = ReturnType<
  typeof parseArgs<{ options: O; allowPositionals: true }>
>

/**
 * The arguments of a tool (npm run …). --help prints the text and ends; what the tool does not know is refused. `positionals`: how
 * many arguments without a name it takes.
 */
export function readArguments<const O extends ParseArgsOptionsConfig>(
  help: string,
  options: O,
  { positionals = 0 } = {},
): Read<O> {
  const read = parse(options)
  if ((read.values as { help?: boolean }).help) {
    process.stdout.write(`${help.trimEnd()}\n`)
    process.exit()
  }
  const [more] = read.positionals.slice(positionals)
  if (more !== undefined) refuse(`The argument ${JSON.stringify(more)} is one too many.`)
  return read
}

function parse<O extends ParseArgsOptionsConfig>(options: O): Read<O> {
  const help = { help: { type: 'boolean', short: 'h' } } as const
  const config: ParseArgsConfig = { options: { ...options, ...help }, allowPositionals: true }
  try {
    return parseArgs(config) as unknown as Read<O>
  } catch (error) {
    // The sentences after the first are about writing options in general.
    const [first = ''] = (error as Error).message.split(/\.\s/)
    refuse(`${first.replace(/\.$/, '')}.`)
  }
}

/** Ends a tool that was given something wrong, with a sentence instead of a stack trace. */
export function refuse(sentence: string): never {
  process.stderr.write(`${sentence} --help shows what can be given.\n`)
  process.exit(2)
}

/** A count. */
export function toWhole(name: string, text: string, min = 1): number {
  if (/^\d{1,10}$/.test(text) && Number(text) >= min) return Number(text)
  refuse(`${name} must be a whole number of ${min} or more.`)
}

export function toPositive(name: string, text: string): number {
  const number = text.trim() === '' ? Number.NaN : Number(text)
  if (number > 0 && Number.isFinite(number)) return number
  refuse(`${name} must be a number above 0.`)
}

export function toChoice<const C extends string>(name: string, text: string, choices: readonly C[]): C {
  const choice = choices.find((each) => each === text)
  if (choice !== undefined) return choice
  refuse(`${name} must be one of: ${choices.join(', ')}.`)
}

/** Choices, separated by commas. */
export const toChoices = <const C extends string>(name: string, text: string, choices: readonly C[]): C[] =>
  text.split(',').map((each) => toChoice(name, each.trim(), choices))
