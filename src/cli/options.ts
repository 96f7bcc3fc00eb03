import { InvalidArgumentError } from 'commander'
import { UserError } from '../errors.ts'
import * as wishes from '../keys/key-options.ts'

/** A reader of wishes as commander wants it: what is wrong is said with the usage. */
const asOption =
  <T>(read: (text: string, before?: T) => T) =>
  (text: string, before?: T): T => {
    try {
      return read(text, before)
    } catch (error) {
      // commander repeats what was given.
      if (error instanceof wishes.PersonNumber) throw new UserError(error.message)
      throw error instanceof wishes.InvalidOption ? new InvalidArgumentError(error.message) : error
    }
  }

export const readKeyDuration = asOption<number>(wishes.readKeyDuration)
export const readLifetime = asOption<number>(wishes.readLifetime)
export const readScopes = asOption(wishes.readScopes)
export const readAddresses = asOption(wishes.readAddresses)
export const readName = asOption<string>(wishes.readName)
export const readFields = asOption(wishes.readFields)
export const readCount = asOption<number>(wishes.readCount)
