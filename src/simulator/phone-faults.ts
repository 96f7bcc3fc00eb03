/** How a vendor may spell the phone of a record, given as 0803…; undefined leaves the field out. */
export type SpellPhone = (phone: string) => unknown

const OTHER = '08021112223'

/** Phones that cannot be compared with the requested one. */
export const UNREADABLE_PHONES = {
  phone_null: () => null,
  phone_missing: () => undefined,
  phone_empty: () => '',
  phone_masked: (phone) => `${phone.slice(0, 3)}****${phone.slice(7)}`,
  phone_hidden: () => '***********',
  phone_not_available: () => 'N/A',
} as const satisfies Readonly<Record<string, SpellPhone>>

/** Unusual spellings that can be read. */
export const READABLE_PHONES = {
  phone_plus_2340: (phone) => `+234${phone}`,
  phone_several: (phone) => `${OTHER},${phone}`,
} as const satisfies Readonly<Record<string, SpellPhone>>

export const PHONE_FAULTS = { ...UNREADABLE_PHONES, ...READABLE_PHONES } as const
export type PhoneFault = keyof typeof PHONE_FAULTS

export const isPhoneFault = (fault: string | undefined): fault is PhoneFault =>
  fault !== undefined && Object.hasOwn(PHONE_FAULTS, fault)

/** The reply with all phones in another spelling. */
export function respellPhones(answer: unknown, fields: readonly string[], spell: SpellPhone): unknown {
  if (Array.isArray(answer)) return answer.map((each) => respellPhones(each, fields, spell))
  if (typeof answer !== 'object' || answer === null) return answer
  return Object.fromEntries(
    Object.entries(answer).map(([name, value]) => [
      name,
      // An empty second phone stays empty.
      fields.includes(name) && typeof value === 'string' && value !== ''
        ? spell(`0${value.slice(-10)}`)
        : respellPhones(value, fields, spell),
    ]),
  )
}
