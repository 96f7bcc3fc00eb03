import type { PersonDetails } from '../../src/contract/person.ts'
import { toBvnPerson, toNinPerson, toPhoneCoreOf } from '../../src/simulator/people.ts'
import type { Source } from '../../src/sources/source.ts'
import { namesWith, SHIPPED_VENDORS } from '../../src/sources/vendors.ts'

/** What the suites of all vendors must know of each one, from its file. */
export type Kind = 'nin' | 'bvn'

export const kindsOf = (name: string): readonly Kind[] =>
  (['nin', 'bvn'] as const).filter((kind) => namesWith(kind).includes(name))

/** A NIN, unless the vendor has none. */
export const mainKindOf = (name: string): Kind => kindsOf(name)[0] ?? 'nin'

const answerOf = (name: string, kind: Kind) => SHIPPED_VENDORS.get(name)?.loaded?.file.answers[kind]

/** The vendor gives no record: it says whether the details of the request match. */
export const isMatchOnly = (name: string, kind: Kind): boolean =>
  answerOf(name, kind)?.phones.some((phone) => typeof phone !== 'string') === true

/** The vendor gives the first and the last name in fields of their own. */
export const hasNameParts = (name: string, kind: Kind): boolean => {
  const info = answerOf(name, kind)?.fields?.personal_info as object | undefined
  return info === undefined || 'first_name' in info
}

/** The name of the member with the record; $ if it is the whole answer. */
export const recordOf = (name: string, kind: Kind): string | undefined => answerOf(name, kind)?.record[0]

/** The names of the members by which the file decides what an answer is, and whom it is about. */
export function decidingFields(name: string, kind: Kind): readonly string[] {
  const file = SHIPPED_VENDORS.get(name)?.loaded?.file
  const answer = answerOf(name, kind)
  if (!file || !answer) return []
  const values = (file.rules[answer.rules] ?? []).flatMap((rule) => rule.if.values ?? [])
  return [...values.map(({ at }) => at), ...(answer.number?.at ?? [])].map(
    (path) => path.split('.').at(-1) as string,
  )
}

/** The details of the person that the vendor needs. All names, because some vendors compare them as a whole. */
export function toNeededDetails(source: Source, kind: Kind, number: string): PersonDetails | undefined {
  const needed = source.needsDetails?.[kind] ?? []
  const { personal_info: info } = kind === 'nin' ? toNinPerson(number) : toBvnPerson(number)
  const details = {
    first_name: `${info.first_name} ${info.middle_name}`.trim(),
    last_name: info.last_name,
    date_of_birth: info.date_of_birth,
  }
  return needed.length === 0 ? undefined : Object.fromEntries(needed.map((name) => [name, details[name]]))
}

/** The request of a caller about a person of the simulated vendors. */
export const toRequest = (kind: Kind, number: string, phone = `0${toPhoneCoreOf(number)}`) => ({
  url: `/api/v2/kyc/verify-${kind}`,
  payload: { [kind]: number, phone, ...(kind === 'bvn' && { amount: '1' }) },
})
