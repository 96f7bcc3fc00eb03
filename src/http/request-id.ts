import { randomBytes } from 'node:crypto'

const SAFE = /^[A-Za-z0-9._-]{8,64}$/

/** Random, once for each process. A counter makes each id unique, for a tenth of the cost of a random one. */
const PREFIX = `req_${drawPrefix()}`
/** The last digits of the counter, written out once. */
const TAILS = Array.from({ length: 4096 }, (_, tail) => toHex(tail, 3))
let block = randomBytes(3).readUIntBE(0, 3)
let blockPrefix = ''
let tail = TAILS.length

/** The caller's own id if it is safe to repeat, else a new one. */
export function toRequestId(header: string | string[] | undefined): string {
  if (typeof header === 'string' && SAFE.test(header)) return header
  if (tail === TAILS.length) {
    block += 1
    blockPrefix = PREFIX + toHex(block, 7)
    tail = 0
  }
  const id = `${blockPrefix}${TAILS[tail]}`
  tail += 1
  return id
}

/** With two letters at least: an id of digits alone may be a number of a person, and is not written down; see logged-id.ts. */
function drawPrefix(): string {
  const drawn = randomBytes(11).toString('hex')
  return /[a-f].*[a-f]/.test(drawn) ? drawn : drawPrefix()
}

function toHex(count: number, digits: number): string {
  return count.toString(16).padStart(digits, '0')
}
