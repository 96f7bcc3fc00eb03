import { randomBytes } from 'node:crypto'
import type { ErasureSubject } from '../../src/people/erase-rows.ts'

/** One person, known by the same hash in every table. Each call is an erasure of its own. */
export const toErasureSubject = (
  subject: Uint8Array,
  values: Partial<ErasureSubject> = {},
): ErasureSubject => ({
  id: `era_${randomBytes(8).toString('hex')}`,
  kind: 'nin',
  record: subject,
  reusedResult: subject,
  subject,
  unnamed: [],
  named: [],
  recentFrom: 0,
  ...values,
})
