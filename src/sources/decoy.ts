import type { Kind } from '../crypto/blind-index.ts'
import { completeBvn, completeNin } from './record.ts'
import { toBvnRecord } from './sandbox/bvn-record.ts'
import { toNinRecord } from './sandbox/nin-record.ts'

const NUMBER = '10000000000'
const PHONE_CORE = '8030000000'

/** A reply about a person of usual size. */
const TEXTS: Readonly<Record<Kind, string>> = {
  nin: JSON.stringify(toNinRecord(NUMBER, PHONE_CORE)),
  bvn: JSON.stringify(toBvnRecord(NUMBER, PHONE_CORE)),
}

/**
 * Takes the steps that reading a person's record takes, for a vendor that knows no such person: a caller must not tell by our
 * part of the time whether a number exists.
 */
export function readDecoy(kind: Kind): void {
  if (kind === 'nin') completeNin(JSON.parse(TEXTS.nin))
  else completeBvn(JSON.parse(TEXTS.bvn))
}
