import { randomFillSync } from 'node:crypto'
import { steadyNow } from '../contract/time.ts'

const CROCKFORD = '0123456789abcdefghjkmnpqrstvwxyz'
const RANDOM_CHARACTERS = 26
const pool = Buffer.alloc(RANDOM_CHARACTERS * 128)
let used = pool.length

/** `ver_`, ten characters of time and twenty-six random ones (130 bits): sorts by time, cannot be guessed. */
export function createReference(now = steadyNow()): string {
  return `ver_${toTimeText(now)}${toRandomText()}`
}

const WELL_FORMED = /^ver_[0-9a-z]{20,60}$/

export const isReference = (text: string): boolean => WELL_FORMED.test(text)

let lastTime = Number.NaN
let lastText = ''

/** The last one is kept: many references are made in one millisecond. */
function toTimeText(now: number): string {
  if (now === lastTime) return lastText
  let rest = now
  let text = ''
  for (let index = 0; index < 10; index++) {
    text = CROCKFORD[rest % 32] + text
    rest = Math.floor(rest / 32)
  }
  lastTime = now
  lastText = text
  return text
}

/** Every pair of characters, by ten random bits. */
const PAIRS = Array.from({ length: 1024 }, (_each, bits) => `${CROCKFORD[bits >> 5]}${CROCKFORD[bits & 31]}`)

/** Random bytes are drawn in bulk: one call to the system per 128 references. */
function toRandomText(): string {
  if (used + RANDOM_CHARACTERS > pool.length) {
    randomFillSync(pool)
    used = 0
  }
  let text = ''
  for (const end = used + RANDOM_CHARACTERS; used < end; used += 2)
    text += PAIRS[(((pool[used] as number) & 31) << 5) | ((pool[used + 1] as number) & 31)]
  return text
}
