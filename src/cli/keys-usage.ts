import type { Command } from 'commander'
import { steadyNow, toLagosDate } from '../contract/time.ts'
import { UserError } from '../errors.ts'
import { type KeyUsage, listKeyUsage, toUsageCsv } from '../keys/key-usage.ts'
import { print, say, toTable } from '../server/terminal.ts'
import { withStore } from './command-context.ts'
import { addHelp, EXIT_CODES } from './help.ts'
import { readMonth } from './options.ts'

type UsageOptions = { from?: string; to?: string; csv?: true; json?: true }

export function addKeyUsageCommand(keys: Command): void {
  const command = keys
    .command('usage')
    .description('verifications, paid calls and cost of each key, by month')
    .option('--from <month>', 'first month, such as 2026-01 (default: this month)', readMonth)
    .option('--to <month>', 'last month (default: this month)', readMonth)
    .option('--csv', 'print CSV, for a spreadsheet')
    .option('--json', 'print a JSON array')
    .action((options: UsageOptions) => withStore(({ store }) => run(store, options)))
  addHelp(command, {
    details:
      'Months are in Lagos time. The cost has the prices that were set when each call was made (TABBAT_<VENDOR>_PRICE). Verifications are counted as long as TABBAT_STATISTICS_KEEP says, paid calls for 800 days.',
    usesDatabase: true,
    settings: ['TABBAT_STATISTICS_KEEP'],
    exitCodes: EXIT_CODES,
    examples: {
      'keys usage': 'this month',
      'keys usage --from 2026-01 --to 2026-12 --csv > usage.csv': 'a year, for a spreadsheet',
    },
  })
}

async function run(
  store: Parameters<typeof listKeyUsage>[0],
  { from, to, csv, json }: UsageOptions,
): Promise<void> {
  const today = toLagosDate(steadyNow()).slice(0, 'yyyy-mm'.length)
  const months = { from: from ?? to ?? today, to: to ?? today }
  if (months.from > months.to) throw new UserError('The first month is after the last one.')
  const rows = await listKeyUsage(store, months)
  if (csv) print(toUsageCsv(rows))
  else if (json) say(JSON.stringify(rows))
  else if (rows.length === 0) say('No key was used in this time.')
  else say(toTable([TITLES, ...rows.map(toCells)]))
}

const TITLES = ['month', 'key', 'mode', 'verified', 'not verified', 'failed', 'paid calls', 'cost', 'name']

const toCells = (row: KeyUsage) => [
  row.month,
  row.key_id,
  row.mode,
  String(row.verified),
  String(row.not_verified),
  String(row.failed),
  String(row.paid_calls),
  `₦${row.cost_naira.toFixed(2)}`,
  row.name,
]
