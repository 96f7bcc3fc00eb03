import { randomBytes } from 'node:crypto'

const SAFE = /^[A-Za-z0-9._-]{8,64}$/

/** Random, once for each process. A counter makes each id unique, for a tenth of the cost of a random one. */
const PREFIX = `req_${randomBytes(11).toString('hex')}`
let count = randomBytes(4).readUInt32BE()

/** The caller's own id if it is safe to repeat, else a new one. */
export function toRequestId(header: string | string[] | undefined): string {
  if (typeof header === 'string' && SAFE.test(header)) return header
  count += 1
  return PREFIX + count.toString(16).padStart(10, '0')
}
