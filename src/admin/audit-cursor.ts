import { type ScanPosition, toComparable } from '../audit/reverse-scan.ts'
import { AppError } from '../errors.ts'

/** The position where a search continues, as an opaque text. */
export const toCursor = ({ time, chain, sequence }: ScanPosition): string =>
  Buffer.from(JSON.stringify([time, chain, sequence])).toString('base64url')

export function readCursor(text: string): ScanPosition {
  const place = parse(text)
  if (place) return place
  throw new AppError('validation_failed', {
    errors: { before: ['before must be the value of next from an earlier page'] },
  })
}

function parse(text: string): ScanPosition | undefined {
  try {
    const [time, chain, sequence] = JSON.parse(Buffer.from(text, 'base64url').toString()) as unknown[]
    if (typeof time !== 'string' || typeof chain !== 'string' || !Number.isSafeInteger(sequence))
      return undefined
    return { time: toComparable(Date.parse(time)), chain, sequence: sequence as number }
  } catch {
    return undefined
  }
}
