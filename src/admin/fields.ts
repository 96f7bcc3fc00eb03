import { readReason } from '../contract/free-text.ts'
import { ROLES } from '../contract/role.ts'
import { type Static, Type } from '../contract/schema.ts'
import { MODES, SCOPES } from '../contract/scope.ts'
import { AppError } from '../errors.ts'
import { InvalidOption } from '../keys/key-options.ts'

/** Times are ISO 8601 in UTC. */
export const Time = Type.String({ format: 'date-time' })
export const Mode = Type.Enum(MODES)
export type Mode = Static<typeof Mode>
export const Scope = Type.Enum(SCOPES)
export const RoleName = Type.Enum(ROLES)
export const Kind = Type.Enum(['nin', 'bvn'] as const)
export type Kind = Static<typeof Kind>
export const Operation = Type.String({
  description: 'For example verify_nin, as in logs and metrics.',
})

/** A text to search by. */
export const searchText = (maxLength: number) =>
  Type.String({ maxLength, 'x-rule': `must have at most ${maxLength} characters` })

/** The position where a list continues, as an opaque text. */
export const toCursor = (...parts: readonly (string | number)[]): string =>
  Buffer.from(JSON.stringify(parts)).toString('base64url')

export const Cursor = Type.String({
  maxLength: 200,
  description: 'The value of `next` from an earlier page.',
})

/** `toPosition` returns undefined if the parts are not those of a position. */
export function readCursor<Position>(
  text: string | undefined,
  toPosition: (parts: readonly unknown[]) => Position | undefined,
): Position | undefined {
  if (text === undefined) return undefined
  const position = toPosition(parseParts(text))
  if (position !== undefined) return position
  throw new AppError('validation_failed', {
    errors: { before: ['before must be the value of next from an earlier page'] },
  })
}

/** PostgreSQL refuses NUL in a text. */
const isOddText = (part: unknown) => typeof part === 'string' && part.includes('\0')

function parseParts(text: string): readonly unknown[] {
  try {
    const parts: unknown = JSON.parse(Buffer.from(text, 'base64url').toString())
    return Array.isArray(parts) && !parts.some(isOddText) ? parts : []
  } catch {
    return []
  }
}

/** For input objects: unknown fields are refused. */
export const strict = { additionalProperties: false } as const

export const Ok = Type.Object({ ok: Type.Literal(true) })
/** The answer `Ok`. */
export const done = { ok: true } as const

/** The reason of an access to personal data, checked. It is written to the audit log. */
export function requireReason(text: string): string {
  const given = readReason(text)
  if ('reason' in given) return given.reason
  throw new AppError('validation_failed', { errors: { reason: [`reason ${given.problem}`] } })
}

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
