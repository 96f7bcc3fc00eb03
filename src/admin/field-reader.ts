import { AppError } from '../errors.ts'
import { InvalidOption } from '../keys/key-options.ts'

/** Reads fields with the parsers of the command line, and collects the problems of all of them. */
export function createFieldReader() {
  const errors: Record<string, string[]> = {}
  return {
    read: <T>(field: string, work: () => T): T | undefined => {
      try {
        return work()
      } catch (error) {
        if (!(error instanceof InvalidOption)) throw error
        errors[field] = [error.message]
        return undefined
      }
    },
    /** Throws if any field was invalid. */
    requireValid: (): void => {
      if (Object.keys(errors).length > 0) throw new AppError('validation_failed', { errors })
    },
  }
}
