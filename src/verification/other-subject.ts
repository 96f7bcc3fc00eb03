import { toBlindIndex } from '../crypto/blind-index.ts'
import type { Decision } from './match.ts'
import type { Verification } from './verification.ts'

/**
 * Keyed hash of the NIN that a source returned for a virtual NIN. An erasure of the NIN finds the stored answer by it. Undefined
 * if the answer has the number that was asked for, or none.
 */
export function toOtherSubject<T>(
  { deps, idType, request }: Verification<T>,
  decision: Decision<T> | undefined,
): Buffer | undefined {
  const number = decision && 'record' in decision ? idType.numberIn(decision.record) : request.number
  return number === request.number ? undefined : toBlindIndex(deps.subjectKey, idType.kind, number)
}
