import { auditBy } from '../../audit/audit-by.ts'
import { checkVendor } from '../../context/source-control.ts'
import { AppError } from '../../errors.ts'
import { disableSource, enableSource } from '../../sources/switch.ts'
import { VENDOR_NAMES, type VendorName } from '../../sources/vendors.ts'
import { type AdminRoute, defineRoute } from '../route.ts'
import { Ok } from '../shapes/fields.ts'
import { SourceChecked, SourceList } from '../shapes/sources.ts'
import { readSourceStates } from '../source-states.ts'

const done = { ok: true } as const
const tag = 'Sources'

const list = defineRoute({
  name: 'list_sources',
  tag,
  method: 'GET',
  path: '/admin/sources',
  summary: 'Who is asked in which order, and how each is doing.',
  role: 'viewer',
  output: SourceList,
  run: async ({ context }) => {
    const { ninSources, bvnSources, vendors } = context.config
    return {
      nin_order: [...ninSources],
      bvn_order: [...bvnSources],
      sources: await readSourceStates(context),
      can_check: VENDOR_NAMES.filter((name) => vendors[name]),
    }
  },
})

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
      const table = deps.context.store.sources
      await turn({ table, audit: auditBy(deps, actor) }, readName(params.name))
      return done
    },
  })

const disable = toSwitch(
  'disable',
  'Switch a source off, on all nodes, until it is enabled; servers obey within 5 seconds.',
  disableSource,
)
const enable = toSwitch('enable', 'Let a source be asked again, within 5 seconds.', enableSource)

const check = defineRoute({
  name: 'check_source',
  tag,
  method: 'POST',
  path: '/admin/sources/:name/check',
  summary: 'Ask a vendor once, for a number that it made for trying. The call may be billed.',
  role: 'operator',
  output: SourceChecked,
  run: async (deps, { params, actor }) => {
    const { config, store, audit } = deps.context
    const checking = { config, store, audit: auditBy(deps, actor), node: audit.owner }
    const { ok, asked, result, ms, explanation } = await checkVendor(checking, readName(params.name))
    return { ok, asked, result, ms, explanation }
  },
})

function readName(text: string | undefined): VendorName {
  const name = VENDOR_NAMES.find((known) => known === text)
  if (!name) throw new AppError('not_found')
  return name
}

export const SOURCE_ROUTES: readonly AdminRoute[] = [list, disable, enable, check]
