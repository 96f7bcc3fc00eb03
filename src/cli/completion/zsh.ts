import type { CommandNode, Word } from './command-nodes.ts'

/** A zsh function with the meaning of each word, to be sourced or put into the fpath. Where nothing fits, zsh completes files. */
export function toZshScript(nodes: readonly CommandNode[]): string {
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
