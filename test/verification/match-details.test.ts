import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { RequireMatch } from '../../src/contract/person.ts'
import type { Caller } from '../../src/keys/caller.ts'
import {
  checkRequired,
  matchDetails,
  type PersonInfo,
  toMatchText,
} from '../../src/verification/match-details.ts'

const toCaller = (requireMatch?: RequireMatch) => ({ hidden: [], requireMatch }) as unknown as Caller

/** A record as the sources make it: its full name is composed of the others. */
const toRecord = (first_name: string, middle_name: string, last_name: string): PersonInfo => ({
  first_name,
  middle_name,
  last_name,
  full_name: [first_name, middle_name, last_name].filter((each) => each !== '').join(' '),
  date_of_birth: '05-01-1990',
})

function decide(first_name: string, last_name: string, record: PersonInfo): string {
  const caller = toCaller('name')
  return checkRequired(caller, matchDetails({ first_name, last_name }, record, caller))
}

const NGOZI = toRecord('Ngozi', 'Ada', 'Okafor')

describe('names that must match', () => {
  it.each([
    ['Ngozi', 'Okafor', 'met'],
    ['Okafor', 'Ngozi', 'met'],
    ['NGOZI (MRS)', 'Okafor', 'met'],
    ['Barrister Ngozi', 'Okafor-Bello', 'met'],
    ['Ngozi Ada', 'Okafor', 'met'],
    ['Ngozi Ada Okafor', 'Okafor', 'met'],
    ['Ada', 'Okafor', 'met'],
    // The family name first, and a further name.
    ['Okafor', 'Ngozi Ada', 'met'],
    ['Okafor', 'Ada', 'met'],
    ['Okafor-Bello', 'Ngozi', 'met'],
    ['Ngozi A. B.', 'Okafor', 'met'],
    ['Princess (Dr.) Chief Ngozi', 'Okafor', 'met'],
    ['Ada-Bello', 'Ngozi', 'mismatch'],
    ['Okafor', 'Bello Sani', 'mismatch'],
    ['Mrs', 'Okafor', 'mismatch'],
    ['N.', 'Okafor', 'mismatch'],
    ['Ngozi', 'Ngozi', 'mismatch'],
    ['Okafor', 'Okafor', 'mismatch'],
    ['Ada', 'Ada', 'mismatch'],
    ['Ada', 'Ngozi', 'mismatch'],
    ['Ngozi Okafor', 'Ngozi Okafor', 'mismatch'],
    ['Ngozi', 'Ngozi Bello', 'mismatch'],
    ['Ngozi', 'Mrs', 'mismatch'],
    ['Ngozi', 'Bello', 'mismatch'],
    ['Ngozi', 'O', 'mismatch'],
    ['Ngozi', '\u0640', 'mismatch'],
  ])('%s, %s: %s', (first, last, result) => {
    expect(decide(first, last, NGOZI)).toBe(result)
  })

  it('may be the same word twice if the record has it twice', () => {
    const musa = toRecord('Musa', 'Bala', 'Musa')
    expect(decide('Musa', 'Musa', musa)).toBe('met')
    expect(decide('Musa', 'Musa Sani', musa)).toBe('met')
    expect(decide('Bala', 'Bala', musa)).toBe('mismatch')
  })

  it('do not count twice because a record repeats them in another field', () => {
    expect(decide('Ngozi Ada', 'Ada', toRecord('Ngozi Ada', 'Ada', 'Okafor'))).toBe('mismatch')
  })

  it.each([
    [toRecord('Ngozi Ada', '', 'Okafor'), 'Okafor', 'Ngozi'],
    [toRecord('Ngozi Ada Okafor', '', 'Okafor'), 'Okafor', 'Ngozi'],
    [toRecord('Ngozi', '', 'Okafor Bello'), 'Okafor', 'Ngozi'],
    [toRecord('Abdulrahman', 'Musa', 'Bello'), 'Abdul-Rahman Sani', 'Bello'],
    [toRecord('Abdul Rahman', 'Musa', 'Bello'), 'Abdulrahman Sani', 'Bello'],
    [toRecord('Kemi', '', "O'Neil"), 'Kemi', 'O Neil Smith'],
    [toRecord('Muadh', '', 'Bello'), 'Muʿādh', 'Bello'],
    [toRecord('Olaoluwa', '', 'Okon'), 'O\u0323la\u0301o\u0300lu\u0301wa', 'Ɔkɔn'],
    [toRecord('NʼGolo', '', 'Obi'), 'N’Golo', 'Obi'],
    [toRecord('Chief', '', 'Sunday'), 'Chief', 'Sunday'],
    [toRecord('O', '', 'Musa'), 'O', 'Musa'],
    [toRecord('\u200fNgozi\u200b', '', 'Oka\u00adfor'), 'Ngozi', 'Okafor'],
  ])('fit in any usual spelling %#', (record, first, last) => {
    expect(decide(first, last, record)).toBe('met')
  })

  it('are never met by a title that stands within a full name', () => {
    expect(decide('Mrs', 'Okafor', toRecord('Ngozi', 'Mrs Ada', 'Okafor'))).toBe('mismatch')
  })

  const LONG = 'Ngozi '.repeat(2000)
  it('of any length are compared at once', () => {
    const start = process.cpuUsage()
    decide('a '.repeat(50), 'Ng '.repeat(33), toRecord(LONG, LONG, LONG))
    decide('Ngozi'.repeat(20), 'Ngozi'.repeat(19), toRecord(LONG, LONG, LONG))
    // Processor time, not time: 5 ms on a slow machine.
    expect(process.cpuUsage(start).user).toBeLessThan(2_000_000)
  })

  const MISSING = [
    '',
    '****',
    '*',
    'N****i',
    '-',
    'N.',
    'N/A',
    'N••••',
    'NXXXX',
    '?l?ol?wa',
    'N####',
    'Ng\uFFFDzi',
  ]
  it.each(MISSING.map((none) => [none]))('are unknown if the record has "%s" in place of one', (none) => {
    for (const record of [
      toRecord(none, 'Ada', 'Okafor'),
      toRecord('Ngozi', 'Ada', none),
      toRecord(none, '', none),
    ])
      for (const [first, last] of [
        ['Ngozi', 'Okafor'],
        ['Okafor', 'Ngozi'],
        ['Bello', 'Bello'],
      ] as const)
        expect(decide(first, last, record)).toBe('unknown')
  })

  it('decide together with the date of birth, which may decide alone', () => {
    const caller = toCaller('both')
    const check = (date_of_birth: string, record: PersonInfo, last_name = 'Okafor') =>
      checkRequired(caller, matchDetails({ first_name: 'Ngozi', last_name, date_of_birth }, record, caller))
    const nameless = toRecord('', '', 'Okafor')
    expect(check('1990-01-05', NGOZI)).toBe('met')
    expect(check('1990-01-06', NGOZI)).toBe('mismatch')
    expect(check('1990-01-05', nameless)).toBe('unknown')
    expect(check('1990-01-06', nameless)).toBe('mismatch')
    expect(check('1990-01-05', { ...NGOZI, date_of_birth: '****' })).toBe('unknown')
    expect(check('1990-01-05', { ...NGOZI, date_of_birth: '' }, 'Bello')).toBe('mismatch')
  })
})

describe('against an oracle', () => {
  const WORDS = ['ada', 'musa', 'bala', 'ngozi', 'okafor']
  const words = (min: number, max: number) =>
    fc.array(fc.constantFrom(...WORDS), { minLength: min, maxLength: max })
  const person = fc.record({ first: words(0, 2), middle: words(0, 1), last: words(0, 2) })
  type Person = { readonly first: string[]; readonly middle: string[]; readonly last: string[] }
  const toInfo = ({ first, middle, last }: Person) =>
    toRecord(...([first, middle, last].map((each) => each.join(' ')) as [string, string, string]))

  const isEqual = (one: string[], other: string[]) =>
    one.length > 0 && [...one].sort().join() === [...other].sort().join()

  /** The names that serve the other field, when `used` serves this one. */
  const toLeft = ({ first, middle, last }: Person, used: 'first' | 'last'): string[] => {
    const own = used === 'first' ? last : first
    return [...own, ...new Set(middle.filter((word) => !first.includes(word) && !last.includes(word)))]
  }

  /** Whether half of the words can each be given a name of their own: tries every way to do so. */
  const canServe = (given: string[], names: string[]): boolean => {
    const most = (from: string[], left: string[]): number => {
      const [word, ...rest] = from
      if (word === undefined) return 0
      const ways = left.flatMap((name, at) => (name === word ? [1 + most(rest, left.toSpliced(at, 1))] : []))
      return Math.max(most(rest, left), ...ways)
    }
    const served = most(given, names)
    return served > 0 && served >= given.length / 2
  }

  /** Whether the names are given family name first. Then the first field has a word of the family name. */
  const isTurned = (first: string[], last: string[], record: Person): boolean => {
    const isGivenServed = isEqual(last, record.first) || canServe(last, toLeft(record, 'last'))
    if (isEqual(first, record.last) && isGivenServed) return true
    const isFamilyServed = canServe(first, record.last) && canServe(first, toLeft(record, 'first'))
    return isEqual(last, record.first) && isFamilyServed
  }

  const oracle = (first: string[], last: string[], record: Person): string => {
    if (record.first.length === 0 || record.last.length === 0) return 'unknown'
    if (isTurned(first, last, record)) return 'met'
    const [isFirst, isLast] = [isEqual(first, record.first), isEqual(last, record.last)]
    const isLastServed = isLast || canServe(last, toLeft(record, 'first'))
    const isFirstServed = isFirst || canServe(first, toLeft(record, 'last'))
    return (isFirst && isLastServed) || (isLast && isFirstServed) ? 'met' : 'mismatch'
  }

  it('decides as the rules of docs/match.md say', () => {
    fc.assert(
      fc.property(words(1, 3), words(1, 3), person, (first, last, record) => {
        expect(decide(first.join(' '), last.join(' '), toInfo(record))).toBe(oracle(first, last, record))
      }),
      { numRuns: 3000 },
    )
  })

  it('decides the same for any spelling of the same names', () => {
    const spell = fc.constantFrom(
      (text: string) => text.toUpperCase(),
      (text: string) => `Pastor ${text}`,
      (text: string) => `${text} (Mrs)`,
      (text: string) => text.replaceAll('a', 'á').normalize('NFD'),
      (text: string) => text.replaceAll(' ', '-'),
    )
    fc.assert(
      fc.property(words(1, 2), words(1, 2), person, spell, (first, last, record, spelled) => {
        const info = toInfo(record)
        const [one, other] = [first.join(' '), last.join(' ')]
        const plain = decide(one, other, info)
        expect(decide(spelled(one), other, info)).toBe(plain)
        expect(decide(one, spelled(other), info)).toBe(plain)
      }),
      { numRuns: 1000 },
    )
  })

  it('decides the same if first and last name change places in both, without further names', () => {
    fc.assert(
      fc.property(words(1, 2), words(1, 2), person, (first, last, record) => {
        const plain = { ...record, middle: [] }
        const turned = { ...plain, first: record.last, last: record.first }
        const [one, other] = [first.join(' '), last.join(' ')]
        expect(decide(other, one, toInfo(turned))).toBe(decide(one, other, toInfo(plain)))
      }),
      { numRuns: 1000 },
    )
  })
})

describe('levels', () => {
  const tell = (first_name: string | undefined, last_name: string | undefined, record = NGOZI) =>
    toMatchText(matchDetails({ first_name, last_name }, record, toCaller()).told)

  it.each([
    ['Ngozi', 'Okafor', 'first_name=exact, last_name=exact'],
    ['Ngozi', 'Ngozi', 'first_name=exact, last_name=no'],
    ['Ada', 'Ada', 'first_name=partial, last_name=no'],
    ['Ada', 'Ngozi', 'first_name=partial, last_name=partial'],
    ['Ada Joy Peace', 'Ada', 'first_name=no, last_name=partial'],
    ['Okafor', undefined, 'first_name=partial'],
    [undefined, 'Ada', 'last_name=partial'],
  ])('%s, %s: %s', (first, last, text) => {
    expect(tell(first, last)).toBe(text)
  })

  it('are not told for a name that the record does not have', () => {
    expect(tell('Ngozi', 'Okafor', toRecord('', 'Ngozi', 'Okafor'))).toBe('last_name=exact')
    expect(tell('Ngozi', 'Okafor', toRecord('Ngozi', '', '****'))).toBe('first_name=exact')
    expect(tell('Ngozi', 'Okafor', toRecord('', 'Ngozi', ''))).toBe(undefined)
  })
})
