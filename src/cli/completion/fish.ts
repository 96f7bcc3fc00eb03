import type { CommandNode, Word } from './command-nodes.ts'

/** Rules for fish, each bound to the commands typed so far. */
export function toFishScript(nodes: readonly CommandNode[]): string {
  const inner = nodes.slice(1).map(({ path }) => `'${path}'`)
  const rules = nodes.flatMap((node) => {
    const when = `complete -c tabbat -n "test (__tabbat_path) = '${node.path}'"`
    const whenFirst = `complete -c tabbat -n "test (__tabbat_path) = '${node.path}'; and not contains -- (commandline -opc)[-1] ${node.choices.join(' ')}"`
    return [
      ...node.commands.map((word) => `${when} -f -a ${word.text}${toHelp(word)}`),
      ...node.choices.map((text) => `${node.takesFile ? whenFirst : when} -f -a ${text}`),
      ...node.options.map(
        (word) => `${when} ${toFlag(word.text)}${toValues(node, word.text)}${toHelp(word)}`,
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

const toFlag = (flag: string) => (flag.startsWith('--') ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`)
const toHelp = ({ help }: Word) => (help === '' ? '' : ` -d '${help}'`)

function toValues({ values }: CommandNode, flag: string): string {
  const list = values.get(flag)
  return list ? ` -x -a '${list.join(' ')}'` : ''
}
