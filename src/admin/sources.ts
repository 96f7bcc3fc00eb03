import { auditBy } from '../audit/audit-log.ts'
import { readShippedFolder } from '../catalogue/catalogue.ts'
import { type Static, Type } from '../contract/schema.ts'
import { AppError } from '../errors.ts'
import { type Proof, type ProofState, toProofStates } from '../sources/proof-table.ts'
import type { SourceSettings } from '../sources/settings.ts'
import { checkVendor, disableSource, enableSource, readCallOrders } from '../sources/source-control.ts'
import { changeOrder } from '../sources/source-order.ts'
import { OPERATIONS } from '../sources/vendor-file/schema.ts'
import type { VendorValues } from '../sources/vendors.ts'
import { done, Kind, Ok, strict } from './fields.ts'
import { type AdminRoute, defineRoute } from './route.ts'
import { readSourceStates, SourceState } from './source-states.ts'

const VendorProof = Type.Object({
  operation: Type.Enum(OPERATIONS),
  proved_rules: Type.Array(Type.String()),
  other_rules: Type.Array(Type.String()),
  proved_fields: Type.Integer(),
  fields: Type.Integer(),
  /** The last certification with an account of the vendor. Null: not proved yet. */
  last: Type.Nullable(
    Type.Object({
      by: Type.String(),
      at: Type.String(),
      host: Type.String(),
      /** It says nothing about the present file. */
      is_of_earlier_file: Type.Boolean(),
    }),
  ),
})
const VendorDescription = Type.Object({
  name: Type.String(),
  title: Type.String(),
  /** own_file: of TABBAT_VENDORS_DIR. */
  origin: Type.Enum(['own_file', 'built_in', 'code']),
  path: Type.Nullable(Type.String()),
  /** Of the vendor. Null for code. */
  documentation_url: Type.Nullable(Type.String()),
  /** The day on which it was read. */
  documentation_read: Type.Nullable(Type.String()),
  /** One for each operation. Empty for code. */
  proofs: Type.Array(VendorProof),
})
export type VendorDescription = Static<typeof VendorDescription>

export const SourceList = Type.Object({
  /** In call order. `registry` is your own records. */
  nin_order: Type.Array(Type.String()),
  bvn_order: Type.Array(Type.String()),
  /** Where the order was changed and replaces that of the settings. */
  changed_orders: Type.Array(Kind),
  sources: Type.Array(SourceState),
  /** Vendors with settings; these can be checked. */
  can_check: Type.Array(Type.String()),
  /** The same vendors: where they are described, and what was proved of that. */
  vendors: Type.Array(VendorDescription),
})
export type SourceList = Static<typeof SourceList>
const OrderRequest = Type.Object(
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

const tag = 'Sources'

const list = defineRoute({
  name: 'list_sources',
  tag,
  method: 'GET',
  path: '/admin/sources',
  summary: 'The sources in call order, and their state.',
  role: 'viewer',
  output: SourceList,
  run: async ({ context }) => {
    const { config, store } = context
    const { nin, bvn } = await readCallOrders(store, config)
    return {
      nin_order: [...nin.names],
      bvn_order: [...bvn.names],
      changed_orders: (['nin', 'bvn'] as const).filter((kind) => ({ nin, bvn })[kind].isChanged),
      sources: await readSourceStates(context),
      can_check: Object.keys(config.vendors),
      vendors: describeVendors(context.sourceChain.vendors(), await store.proofs.list()),
    }
  },
})

const describeVendors = (vendors: VendorValues, proofs: readonly Proof[]): VendorDescription[] =>
  Object.values(vendors).map(({ vendor: { name, title, loaded } }) => ({
    name,
    title,
    origin: !loaded ? 'code' : loaded.path === undefined ? 'built_in' : 'own_file',
    path: loaded?.path ?? null,
    documentation_url: loaded?.file.documentation.url ?? null,
    documentation_read: loaded?.file.documentation.read ?? null,
    proofs: loaded ? toProofStates(name, loaded.file, proofs).map(toVendorProof) : [],
  }))

function toVendorProof(state: ProofState): Static<typeof VendorProof> {
  const { operation, provedRules, otherRules, provedFields, otherFields, last, earlier } = state
  const proof = last ?? earlier
  return {
    operation,
    proved_rules: [...provedRules],
    other_rules: [...otherRules],
    proved_fields: provedFields.length,
    fields: provedFields.length + otherFields.length,
    last: proof
      ? {
          by: proof.provedBy,
          at: new Date(proof.provedAt).toISOString(),
          host: proof.host,
          is_of_earlier_file: last === undefined,
        }
      : null,
  }
}

const toSwitch = (verb: 'disable' | 'enable', summary: string, turn: typeof disableSource) =>
  defineRoute({
    name: `${verb}_source`,
    tag,
    method: 'POST',
    path: `/admin/sources/:name/${verb}`,
    summary,
    role: 'operator',
    output: Ok,
    run: async (deps, { params, actor }) => {
      const { config, store } = deps.context
      await turn({ table: store.sources, audit: auditBy(deps, actor) }, readName(config, params.name))
      return done
    },
  })

const disable = toSwitch('disable', 'Disable a source on all nodes, within 5 seconds.', disableSource)
const enable = toSwitch('enable', 'Enable a source on all nodes, within 5 seconds.', enableSource)

const order = defineRoute({
  name: 'order_sources',
  tag,
  method: 'POST',
  path: '/admin/sources/order',
  summary:
    'Change the call order on all nodes, within 5 seconds. Without names, the order of the settings counts again.',
  role: 'operator',
  input: OrderRequest,
  output: Ok,
  run: async (deps, { input: { kind, names }, actor }) => {
    const { config, store } = deps.context
    const orderDeps = { table: store.sourceOrders, audit: auditBy(deps, actor) }
    await changeOrder(orderDeps, kind, config[`${kind}Sources`], names)
    return done
  },
})

const check = defineRoute({
  name: 'check_source',
  tag,
  method: 'POST',
  path: '/admin/sources/:name/check',
  summary: 'Call a vendor once with its test number. The call may be billed.',
  role: 'operator',
  output: SourceChecked,
  run: async (deps, { params, actor }) => {
    const { store, audit, leases, sourceChain } = deps.context
    // The file of a vendor may have been read again.
    const config = { ...deps.context.config, vendors: sourceChain.vendors() }
    const checking = { config, store, audit, leases, author: actor.name }
    const { ok, asked, result, ms, explanation } = await checkVendor(
      checking,
      readName(config, params.name),
      readShippedFolder(),
    )
    return { ok, asked, result, ms, explanation }
  },
})

function readName({ knownVendors }: Pick<SourceSettings, 'knownVendors'>, text = ''): string {
  if (!knownVendors.has(text)) throw new AppError('not_found')
  return text
}

export const SOURCE_ROUTES: readonly AdminRoute[] = [list, disable, enable, order, check]
