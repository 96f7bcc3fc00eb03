import { type Static, Type } from '../../contract/schema.ts'
import { SourceState } from './overview.ts'

export const SourceList = Type.Object({
  /** In call order. `registry` is your own records. */
  nin_order: Type.Array(Type.String()),
  bvn_order: Type.Array(Type.String()),
  sources: Type.Array(SourceState),
  /** Vendors with settings; these can be checked. */
  can_check: Type.Array(Type.String()),
})
export type SourceList = Static<typeof SourceList>
export const SourceChecked = Type.Object({
  ok: Type.Boolean(),
  asked: Type.String(),
  result: Type.String(),
  ms: Type.Number(),
  explanation: Type.String(),
})
