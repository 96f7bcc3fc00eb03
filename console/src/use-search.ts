import { useEffect, useRef, useState } from 'preact/hooks'
import { useFilters } from './route.ts'

/** Digits that may be a number of a person, or a part of an API key. */
const IS_PRIVATE = /(?:\d[\s().-]*){8}|tbt_/i

/**
 * The text of a search in a list that the page has. What finds something comes into the address, so that it survives a reload and can be
 * shared. What finds nothing stays on the page: it may be anything, also a name or a number of a person.
 */
export function useSearch(findsSome: (text: string) => boolean): readonly [string, (text: string) => void] {
  const [address, change] = useFilters()
  const shared = address.get('search') ?? ''
  const [text, setText] = useState(shared)
  const own = useRef(shared)
  // Another address, such as one from the history.
  useEffect(() => {
    if (shared === own.current) return
    own.current = shared
    setText(shared)
  }, [shared])
  const search = (typed: string) => {
    setText(typed)
    const isShared = typed.trim() !== '' && !IS_PRIVATE.test(typed) && findsSome(typed)
    own.current = isShared ? typed : ''
    change({ search: own.current })
  }
  return [text, search]
}

/** Whether a text contains what is searched for, in any case. */
export const hasText = (text: string, searched: string) =>
  text.toLowerCase().includes(searched.trim().toLowerCase())
