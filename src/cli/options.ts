import { InvalidArgumentError } from 'commander'
import * as adminTokens from '../accounts/admin-tokens.ts'
import { DAY_MS, readDuration, steadyNow } from '../contract/time.ts'
import { UserError } from '../errors.ts'
import * as keyOptions from '../keys/key-options.ts'
import * as keyUsage from '../keys/key-usage.ts'

/** Adapts a reader of key options to commander, which prints the error with the option's name. */
export const asOption =
  <T>(read: (text: string, before?: T) => T) =>
  (text: string, before?: T): T => {
    try {
      return read(text, before)
    } catch (error) {
      // commander would repeat the number.
      if (error instanceof keyOptions.PersonNumber) throw new UserError(error.message)
      throw error instanceof keyOptions.InvalidOption ? new InvalidArgumentError(error.message) : error
    }
  }

export const readKeyDuration = asOption<number>(keyOptions.readKeyDuration)
export const readLifetime = asOption<number>(keyOptions.readLifetime)
export const readTokenLifetime = asOption<number>(adminTokens.readTokenLifetime)
export const readScopes = asOption(keyOptions.readScopes)
export const readAddresses = asOption(keyOptions.readAddresses)
export const readClientCerts = asOption(keyOptions.readClientCerts)
export const readName = asOption<string>(keyOptions.readName)
export const readCount = asOption<number>(keyOptions.readCount)
export const readMonth = asOption<string>(keyUsage.readMonth)

/** An option that is removed. Null has another meaning to commander. */
export const REMOVED = Symbol('removed')

/** A word that removes the option. */
export const orWord =
  <T>(word: string, read: (text: string, before?: T) => T) =>
  (text: string, before?: T | typeof REMOVED): T | typeof REMOVED =>
    text.trim().toLowerCase() === word ? REMOVED : read(text, before === REMOVED ? undefined : before)

/** A date, or a date and a time; seconds and zone may be left out. */
const TIME = /^(\d{4}-\d{2}-\d{2})([T ]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:?\d{2})?)?$/i

/** For the help of a command with such options. */
export const DATE_NOTE =
  'A date is a day in UTC, and the last day is included. A time without a zone is the time of this machine.'

/** A time, the first moment of a date, or an age such as 30d; in ISO form. */
export const readSince = (text: string): string => toIso(readTime(text).at)

/** The same, but the last moment of a date: "until 2026-11-30" includes that day. */
export function readUntil(text: string): string {
  const { at, isDate } = readTime(text)
  return toIso(isDate ? at + DAY_MS - 1 : at)
}

const toIso = (at: number) => new Date(at).toISOString()

function readTime(text: string): { readonly at: number; readonly isDate: boolean } {
  const age = readDuration(text)
  if (age !== undefined) return { at: steadyNow() - age, isDate: false }
  const [whole = '', date = ''] = TIME.exec(text.trim()) ?? []
  const at = Date.parse(whole)
  if (Number.isNaN(at) || !isCalendarDay(date))
    throw new InvalidArgumentError(
      'Give a date such as 2026-11-30, a time such as 2026-11-30T09:30Z, or an age such as 6h or 30d.',
    )
  return { at, isDate: whole === date }
}

/** Date.parse reads 2026-02-30 as a day in March. */
const isCalendarDay = (date: string) => new Date(`${date}T00:00Z`).toISOString().startsWith(date)
