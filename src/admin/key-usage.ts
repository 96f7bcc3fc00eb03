import { type Static, Type } from '../contract/schema.ts'
import { listKeyUsage, toUsageCsv } from '../keys/key-usage.ts'
import { strict } from './fields.ts'
import { type AdminRoute, defineRoute, WithHeaders } from './route.ts'

const Month = Type.String({
  pattern: '^20[0-9]{2}-(0[1-9]|1[0-2])$',
  'x-rule': 'must be a month such as 2026-11',
})

/** Both months are included, in Lagos time. */
const KeyUsageRequest = Type.Object({ from: Month, to: Month }, strict)

/** Verifications, paid calls and cost of one key in one month. */
export const KeyUsageRow = Type.Object({
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

const tag = 'Keys'

const readUsage = defineRoute({
  name: 'read_key_usage',
  tag,
  method: 'GET',
  path: '/admin/keys/usage',
  summary: 'Verifications, paid calls and cost of each key, by month.',
  role: 'viewer',
  input: KeyUsageRequest,
  output: KeyUsageReport,
  run: async ({ context: { store } }, { input }) => ({ usage: await listKeyUsage(store, input) }),
})

const exportUsage = defineRoute({
  name: 'export_key_usage',
  tag,
  method: 'GET',
  path: '/admin/keys/usage.csv',
  summary: 'The same as CSV, for a spreadsheet.',
  role: 'viewer',
  input: KeyUsageRequest,
  stream: 'text/csv',
  output: Type.String(),
  run: async ({ context: { store } }, { input }) => {
    const name = `usage-${input.from}-${input.to}.csv`
    const rows = toPieces(toUsageCsv(await listKeyUsage(store, input)))
    return new WithHeaders(rows, ['content-disposition', `attachment; filename="${name}"`])
  },
})

async function* toPieces(text: string): AsyncIterable<string> {
  yield text
}

export const KEY_USAGE_ROUTES: readonly AdminRoute[] = [readUsage, exportUsage]
