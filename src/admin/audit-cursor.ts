import { type Place, toComparable } from '../audit/reverse-scan.ts'
import { AppError } from '../errors.ts'

/** Where a search goes on, as one word that only we read. */
export const toCursor = ({ time, chain, sequence }: Place): string =>
  Buffer.from(JSON.stringify([time, chain, sequence])).toString('base64url')

export function readCursor(text: string): Place {
  const place = parse(text)
  if (place) return place
  throw new AppError('validation_failed', {
    errors: { before: ['before is not from an answer of this search'] },
  })
}

function parse(text: string): Place | undefined {
  try {
    const [time, chain, sequence] = JSON.parse(Buffer.from(text, 'base64url').toString()) as unknown[]
    if (typeof time !== 'string' || typeof chain !== 'string' || !Number.isSafeInteger(sequence))
      return undefined
    return { time: toComparable(Date.parse(time)), chain, sequence: sequence as number }
  } catch {
    return undefined
  }
}
