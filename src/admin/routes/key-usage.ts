import { Type } from '../../contract/schema.ts'
import { listKeyUsage, toUsageCsv } from '../../keys/key-usage.ts'
import { type AdminRoute, defineRoute, WithHeaders } from '../route.ts'
import { KeyUsageReport, KeyUsageRequest } from '../shapes/key-usage.ts'

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
