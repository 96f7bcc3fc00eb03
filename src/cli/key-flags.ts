import { Option } from 'commander'
import { type AnyOption, listOptions, type OptionValues } from '../keys/options.ts'
import { asOption, orWord, REMOVED } from './options.ts'

/** The flags of `tabbat keys create`, one for each option of a key. */
export const toFlags = (): Option[] =>
  listOptions().map(([, { flag, help, choices, read }]) => {
    const option = new Option(flag, help)
    if (choices) option.choices(Object.keys(choices))
    return read ? option.argParser(asOption(read)) : option
  })

/** The flags of `tabbat keys change`, with a word or a flag that removes each option. */
export const toChangeFlags = (): Option[] => listOptions().flatMap(([, option]) => toChangeFlag(option))

function toChangeFlag({ flag, change, choices, read }: AnyOption): Option[] {
  const option = new Option(flag, change.help)
  if ('off' in change) return [option, new Option(flag.replace('--', '--no-'), change.off)]
  if (choices) option.choices([...Object.keys(choices), change.word])
  return [read ? option.argParser(orWord(change.word, asOption(read))) : option]
}

/** The options that are given. */
export const readFlags = (given: Readonly<Record<string, unknown>>): Partial<OptionValues> =>
  Object.fromEntries(
    listOptions().flatMap(([, { property, flag, change, choices, none }]) => {
      const value = given[new Option(flag).attributeName()]
      if (value === undefined) return []
      const isRemoved = value === REMOVED || (choices && 'word' in change && value === change.word)
      return [[property, isRemoved ? none : value]]
    }),
  )
