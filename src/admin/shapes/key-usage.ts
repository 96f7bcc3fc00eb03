import { type Static, Type } from '../../contract/schema.ts'
import { strict } from './fields.ts'

const Month = Type.String({
  pattern: '^20[0-9]{2}-(0[1-9]|1[0-2])$',
  'x-rule': 'must be a month such as 2026-11',
})

/** Both months are included, in Lagos time. */
export const KeyUsageRequest = Type.Object({ from: Month, to: Month }, strict)

/** Verifications, paid calls and cost of one key in one month. */
const KeyUsageRow = Type.Object({
  month: Type.String(),
  key_id: Type.String(),
  name: Type.String(),
  mode: Type.String(),
  owner: Type.String(),
  verifications: Type.Integer(),
  verified: Type.Integer(),
  not_verified: Type.Integer(),
  failed: Type.Integer(),
  paid_calls: Type.Integer(),
  /** At the prices in the settings when each call was made. */
  cost_naira: Type.Number(),
})
export const KeyUsageReport = Type.Object({ usage: Type.Array(KeyUsageRow) })
export type KeyUsageReport = Static<typeof KeyUsageReport>
