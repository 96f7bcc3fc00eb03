import { toPhoneCore } from '../contract/phone.ts'

/** Whether one of the record's phones is the phone in the request. Compared on the ten-digit core. */
export const isPhoneOf = (phoneCore: string, recorded: readonly (string | null)[]): boolean =>
  recorded.some((phone) => phone !== null && toPhoneCore(phone) === phoneCore)
