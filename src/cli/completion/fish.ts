import type { Place, Word } from './places.ts'

/** Rules for fish, each bound to the commands typed so far. */
export function toFishScript(places: readonly Place[]): string {
  const inner = places.slice(1).map(({ path }) => `'${path}'`)
  const rules = places.flatMap((place) => {
    const when = `complete -c tabbat -n "test (__tabbat_place) = '${place.path}'"`
    return [
      ...place.commands.map((word) => `${when} -f -a ${word.text}${toHelp(word)}`),
      ...place.choices.map((text) => `${when} -f -a ${text}`),
      ...place.options.map(
        (word) => `${when} ${toFlag(word.text)}${toValues(place, word.text)}${toHelp(word)}`,
      ),
    ]
  })
  return `# Completion of tabbat for fish.
function __tabbat_place
  set -l place tabbat
  for word in (commandline -opc)[2..-1]
    if contains -- "$place $word" ${inner.join(' ')}
      set place "$place $word"
    end
  end
  echo $place
end
${rules.join('\n')}`
}

const toFlag = (flag: string) => (flag.startsWith('--') ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`)
const toHelp = ({ help }: Word) => (help === '' ? '' : ` -d '${help}'`)

function toValues({ values }: Place, flag: string): string {
  const list = values.get(flag)
  return list ? ` -x -a '${list.join(' ')}'` : ''
}
