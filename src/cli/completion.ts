import { Argument, type Command, type Option } from 'commander'
import { say } from '../server/terminal.ts'
import { addHelp, EXIT_CODES } from './help.ts'

const SCRIPTS = { bash: toBashScript, zsh: toZshScript, fish: toFishScript } as const

export const toCompletionScript = (shell: keyof typeof SCRIPTS, program: Command): string =>
  SCRIPTS[shell](listCommandNodes(program))

/** The program is loaded in full on demand: when this command is named, the others are not loaded. */
export const createAddCompletionCommand =
  (createFullProgram: () => Promise<Command>) =>
  (program: Command): void => {
    const completion = program
      .command('completion')
      .description('print a script that completes commands and options in your shell')
      .addArgument(new Argument('<shell>', 'your shell').choices(Object.keys(SCRIPTS)))
      .action(async (shell: keyof typeof SCRIPTS) => {
        say(toCompletionScript(shell, await createFullProgram()))
      })
    addHelp(completion, {
      details:
        'Write the script to the folder from which your shell loads completions, as below. Create the folder if it does not exist.',
      exitCodes: EXIT_CODES,
      examples: {
        'completion bash > ~/.local/share/bash-completion/completions/tabbat': 'for bash',
        'completion zsh > "${fpath[1]}/_tabbat"': 'for zsh',
        'completion fish > ~/.config/fish/completions/tabbat.fish': 'for fish',
      },
    })
  }

/** A command, and what can be typed after it. */
type CommandNode = {
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
type Word = { readonly text: string; readonly help: string }

/** All visible commands as a flat list, parents first. */
function listCommandNodes(command: Command, parent = ''): CommandNode[] {
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

/** A bash function that follows the commands typed so far. Where nothing fits, bash completes file names. */
function toBashScript(nodes: readonly CommandNode[]): string {
  const inner = nodes.slice(1).map(({ path }) => `'${path}'`)
  const values = nodes.flatMap(({ path, values }) =>
    [...values].map(([flag, list]) => `    '${path} ${flag}') words='${list.join(' ')}' ;;`),
  )
  const words = nodes.map(({ path, commands, options, choices, takesFile }) => {
    const first = [...commands.map(({ text }) => text), ...choices].join(' ')
    const flags = options.map(({ text }) => text).join(' ')
    return takesFile
      ? `    '${path}') if [[ $current == -* ]]; then words='${flags}'; elif [[ ' ${first} ' != *" $previous "* ]]; then words='${first}'; fi ;;`
      : `    '${path}') words='${first} ${flags}' ;;`
  })
  return `# Completion of tabbat for bash.
_tabbat() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]} path=tabbat words='' i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$path \${COMP_WORDS[i]}" in
    ${inner.join('|')}) path="$path \${COMP_WORDS[i]}" ;;
    esac
  done
  case "$path $previous" in
${values.join('\n')}
  esac
  [ -n "$words" ] || case "$path" in
${words.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _tabbat tabbat`
}

/** A zsh function with the meaning of each word, to be sourced or put into the fpath. Where nothing fits, zsh completes files. */
function toZshScript(nodes: readonly CommandNode[]): string {
  const inner = nodes.slice(1).map(({ path }) => `'${path}'`)
  const values = nodes.flatMap(({ path, values }) =>
    [...values].map(([flag, list]) => `    '${path} ${flag}') compadd -- ${list.join(' ')}; return ;;`),
  )
  const words = nodes.map(({ path, commands, options, choices, takesFile }) => {
    const first = [...commands, ...choices.map((text) => ({ text, help: '' }))].map(toEntry).join(' ')
    const flags = options.map(toEntry).join(' ')
    return takesFile
      ? `    '${path}') if [[ $words[CURRENT] == -* ]]; then words_here=(${flags}); elif [[ ' ${choices.join(' ')} ' != *" $words[CURRENT-1] "* ]]; then words_here=(${first}); fi ;;`
      : `    '${path}') words_here=(${first} ${flags}) ;;`
  })
  return `#compdef tabbat
# Completion of tabbat for zsh.
_tabbat() {
  local here=tabbat word
  local -a words_here
  for word in \${words[2,CURRENT-1]}; do
    case "$here $word" in
    ${inner.join('|')}) here="$here $word" ;;
    esac
  done
  case "$here \${words[CURRENT-1]}" in
${values.join('\n')}
  esac
  case "$here" in
${words.join('\n')}
  esac
  if (( $#words_here )); then _describe tabbat words_here || _files; else _files; fi
}
if [ "$funcstack[1]" = _tabbat ]; then _tabbat "$@"; else compdef _tabbat tabbat; fi`
}

const toEntry = ({ text, help }: Word) => `'${help === '' ? text : `${text}:${help.replaceAll(':', '\\:')}`}'`

/** Rules for fish, each bound to the commands typed so far. */
function toFishScript(nodes: readonly CommandNode[]): string {
  const inner = nodes.slice(1).map(({ path }) => `'${path}'`)
  const rules = nodes.flatMap((node) => {
    const when = `complete -c tabbat -n "test (__tabbat_path) = '${node.path}'"`
    const whenFirst = `complete -c tabbat -n "test (__tabbat_path) = '${node.path}'; and not contains -- (commandline -opc)[-1] ${node.choices.join(' ')}"`
    return [
      ...node.commands.map((word) => `${when} -f -a ${word.text}${toHelp(word)}`),
      ...node.choices.map((text) => `${node.takesFile ? whenFirst : when} -f -a ${text}`),
      ...node.options.map(
        (word) => `${when} ${toFishFlag(word.text)}${toValues(node, word.text)}${toHelp(word)}`,
      ),
    ]
  })
  return `# Completion of tabbat for fish.
function __tabbat_path
  set -l path tabbat
  for word in (commandline -opc)[2..-1]
    if contains -- "$path $word" ${inner.join(' ')}
      set path "$path $word"
    end
  end
  echo $path
end
${rules.join('\n')}`
}

const toFishFlag = (flag: string) => (flag.startsWith('--') ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`)
const toHelp = ({ help }: Word) => (help === '' ? '' : ` -d '${help}'`)

function toValues({ values }: CommandNode, flag: string): string {
  const list = values.get(flag)
  return list ? ` -x -a '${list.join(' ')}'` : ''
}
