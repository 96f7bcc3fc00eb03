import type { CommandNode } from './command-nodes.ts'

/** A bash function that follows the commands typed so far. Where nothing fits, bash completes file names. */
export function toBashScript(nodes: readonly CommandNode[]): string {
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
