/** Row ids by a number of up to 52 bits, 16 bytes a place: a Map takes four times as much memory. */
export type PrefixIndex = {
  /** Ids are greater than 0. */
  readonly add: (prefix: number, id: number) => void
  /** The ids under this prefix; more than one where prefixes are equal by chance. */
  readonly find: (prefix: number) => readonly number[]
}

const FIRST_PLACES = 64
const NONE: readonly number[] = []

/** Open addressing: an entry is at the place of its prefix or after it, before the next empty place. */
export function createPrefixIndex(): PrefixIndex {
  let prefixes = new Float64Array(FIRST_PLACES)
  let ids = new Float64Array(FIRST_PLACES)
  let size = 0

  const insert = (prefix: number, id: number) => {
    const mask = ids.length - 1
    let place = toPlace(prefix, mask)
    while (ids[place] !== 0) place = (place + 1) & mask
    prefixes[place] = prefix
    ids[place] = id
  }
  const grow = () => {
    const [oldPrefixes, oldIds] = [prefixes, ids]
    prefixes = new Float64Array(oldIds.length * 2)
    ids = new Float64Array(oldIds.length * 2)
    for (const [place, id] of oldIds.entries()) if (id !== 0) insert(oldPrefixes[place] as number, id)
  }
  return {
    add: (prefix, id) => {
      if (++size > ids.length * 0.7) grow()
      insert(prefix, id)
    },
    find: (prefix) => {
      const mask = ids.length - 1
      let found = NONE
      for (let place = toPlace(prefix, mask); ids[place] !== 0; place = (place + 1) & mask)
        if (prefixes[place] === prefix) found = [...found, ids[place] as number]
      return found
    },
  }
}

/** Prefixes are parts of hashes, so their lowest bits are spread evenly. */
const toPlace = (prefix: number, mask: number) => (prefix % 0x1_0000_0000) & mask
