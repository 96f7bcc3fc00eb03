import { isVirtualNin } from '../contract/person.ts'

type Remaining = { readonly what: string; readonly why: string }

/** What an erasure by this number leaves, and why: for the operator, who tells the person. */
export const listRemains = (number: string): Remaining[] => [
  ...(isVirtualNin(number) ? [BEHIND_VIRTUAL_NIN] : []),
  ...REMAINS,
]

const BEHIND_VIRTUAL_NIN: Remaining = {
  what: 'what is stored under the NIN behind this virtual NIN: the record, and answers in which a vendor returned the NIN',
  why: 'A virtual NIN does not tell its NIN without a call to a vendor; erase by the NIN as well.',
}

const REMAINS: readonly Remaining[] = [
  {
    what: 'what is stored under another number of the person: a NIN, a BVN or a virtual NIN',
    why: 'Nothing tells that the numbers belong together, also if a BVN record contains the NIN; erase by each number.',
  },
  {
    what: 'the rows of the audit log and of its archives, with a keyed hash in place of the number',
    why: 'The law demands a record of who asked and when; without the root key the hash names no person.',
  },
  {
    what: 'counters of failed matches and of people per day, under a keyed hash, for up to two days',
    why: 'Without them an erasure would reset the limits on guessing.',
  },
  {
    what: 'a tombstone: keyed hashes of the number and the time',
    why: 'A restore of an older backup erases the person again by it.',
  },
  {
    what: 'backups that were made before',
    why: 'They are not changed; delete them when their time is over.',
  },
]
