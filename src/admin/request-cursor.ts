import { AppError } from '../errors.ts'
import type { RequestPosition } from '../requests/search.ts'

/** The position where a search of the request log continues, as an opaque text. */
export const toRequestCursor = ({ at, row }: RequestPosition): string =>
  Buffer.from(JSON.stringify([at, row])).toString('base64url')

export function readRequestCursor(text: string): RequestPosition {
  try {
    const [at, row] = JSON.parse(Buffer.from(text, 'base64url').toString()) as unknown[]
    if (Number.isSafeInteger(at) && typeof row === 'string') return { at: at as number, row }
  } catch {
    // Answered below.
  }
  throw new AppError('validation_failed', {
    errors: { before: ['before must be the value of next from an earlier page'] },
  })
}
