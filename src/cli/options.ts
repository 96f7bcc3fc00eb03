import { InvalidArgumentError } from 'commander'
import * as adminTokens from '../accounts/admin-tokens.ts'
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
