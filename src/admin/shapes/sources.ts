import { type Static, Type } from '../../contract/schema.ts'
import { Kind, strict } from './fields.ts'
import { SourceState } from './overview.ts'

export const SourceList = Type.Object({
  /** In call order. `registry` is your own records. */
  nin_order: Type.Array(Type.String()),
  bvn_order: Type.Array(Type.String()),
  /** Where the order was changed and replaces that of the settings. */
  changed_orders: Type.Array(Kind),
  sources: Type.Array(SourceState),
  /** Vendors with settings; these can be checked. */
  can_check: Type.Array(Type.String()),
})
export type SourceList = Static<typeof SourceList>
export const OrderRequest = Type.Object(
  {
    kind: Kind,
    /** Every configured source once. */
    names: Type.Optional(Type.Array(Type.String({ maxLength: 40 }), { maxItems: 50 })),
  },
  strict,
)
export const SourceChecked = Type.Object({
  ok: Type.Boolean(),
  asked: Type.String(),
  result: Type.String(),
  ms: Type.Number(),
  explanation: Type.String(),
})
