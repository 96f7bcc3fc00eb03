import { type Static, Type } from '../contract/schema.ts'
import { secondsToLagosMidnight, steadyNow, toIsoTime, toLagosDate, toLagosDay } from '../contract/time.ts'
import { AppError } from '../errors.ts'
import { listKeyUsage } from '../keys/key-usage.ts'
import { listOptions } from '../keys/options.ts'
import { toEndpointState } from '../webhooks/endpoint-view.ts'
import { Time } from './fields.ts'
import { KeyUsageRow } from './key-usage.ts'
import { KeyOptionField, KeyWithUsage, listKeysWithUsage, toOptionField } from './keys.ts'
import { type AdminRoute, defineRoute } from './route.ts'

/** All about one key. */
export const KeyReport = Type.Object({
  key: KeyWithUsage,
  options: Type.Array(KeyOptionField),
  /** Different people since midnight in Lagos, also of the keys it was rolled from. */
  quota: Type.Object({ used: Type.Integer(), limit: Type.Integer(), resets_at: Time }),
  /** Of this month in Lagos. Null: not used. */
  month: Type.Nullable(KeyUsageRow),
  /** Endpoints that are told of its verifications. */
  endpoints: Type.Array(
    Type.Object({
      id: Type.String(),
      name: Type.String(),
      state: Type.Enum(['active', 'failing', 'disabled'] as const),
    }),
  ),
})
export type KeyReport = Static<typeof KeyReport>

const readKey = defineRoute({
  name: 'read_key',
  tag: 'Keys',
  method: 'GET',
  path: '/admin/keys/:id',
  summary: 'One key: its options, its quota of today, its cost of this month and its webhooks.',
  role: 'viewer',
  output: KeyReport,
  run: async (deps, { params: { id = '' } }) => {
    const { store } = deps.context
    const row = await store.keys.find(id)
    const key = (await listKeysWithUsage(deps)).find((each) => each.id === id)
    if (!row || !key) throw new AppError('not_found')
    const now = steadyNow()
    const month = toLagosDate(now).slice(0, 'yyyy-mm'.length)
    const usage = await listKeyUsage(store, { from: month, to: month })
    const endpoints = (await store.webhooks.list()).filter(({ lineages }) => lineages.includes(row.lineage))
    return {
      key,
      options: listOptions().map(toOptionField),
      quota: {
        used: await store.guesses.countPeople(row.lineage, toLagosDay(now)),
        limit: key.subjects_per_day,
        resets_at: toIsoTime(now + secondsToLagosMidnight(now) * 1000),
      },
      month: usage.find(({ key_id }) => key_id === id) ?? null,
      endpoints: endpoints.map((endpoint) => ({
        id: endpoint.id,
        name: endpoint.name,
        state: toEndpointState(endpoint),
      })),
    }
  },
})

export const KEY_REPORT_ROUTES: readonly AdminRoute[] = [readKey]
