import type { Kind } from '../crypto/blind-index.ts'
import { completeBvn, completeNin } from './record.ts'
import { toBvnRecord } from './sandbox/bvn-record.ts'
import { toNinRecord } from './sandbox/nin-record.ts'

const NUMBER = '10000000000'
const PHONE_CORE = '8030000000'

/** A record of typical size. */
const TEXTS: Readonly<Record<Kind, string>> = {
  nin: JSON.stringify(toNinRecord(NUMBER, PHONE_CORE)),
  bvn: JSON.stringify(toBvnRecord(NUMBER, PHONE_CORE)),
}

/**
 * Does the work of reading a record when the vendor found none, so that our own processing time does not reveal whether a
 * number exists.
 */
export function readDecoy(kind: Kind): void {
  if (kind === 'nin') completeNin(JSON.parse(TEXTS.nin))
  else completeBvn(JSON.parse(TEXTS.bvn))
}
