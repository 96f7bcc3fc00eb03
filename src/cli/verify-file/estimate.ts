import { join } from 'node:path'
import type { Config } from '../../context/config.ts'
import type { Kind } from '../../crypto/blind-index.ts'
import { hasDatabase } from '../../database/sqlite-user-error.ts'
import { UserError } from '../../errors.ts'
import { toCount } from '../../server/terminal.ts'
import { readCallOrders } from '../../sources/source-control.ts'
import type { VendorName } from '../../sources/vendors.ts'
import { openStore, SQLITE_FILE } from '../../store/store.ts'
import { confirm, isInteractive } from '../prompt.ts'

/** What a run costs, in kobo. Undefined: the price is not known here. */
type Estimate = { readonly kobo: number | undefined; readonly text: string }

type EstimateOptions = {
  readonly kind: Kind
  readonly rows: number
  readonly key: string
  /** The server is elsewhere, so its prices are not known. */
  readonly isRemote: boolean
  /** In kobo. */
  readonly price?: number
}

/** Rows × price of the first source that has a price. Further sources are asked only if it fails. */
export async function toEstimate(config: Config, options: EstimateOptions): Promise<Estimate> {
  const { rows, key, isRemote, price } = options
  if (key.startsWith('tbt_test_')) return { kobo: 0, text: 'Cost: none. A test key gets synthetic people.' }
  if (price !== undefined) return toCost(rows, price, '--price')
  if (isRemote)
    return {
      kobo: undefined,
      text: 'Cost: the prices of that server are not known here. Give --price to compute it.',
    }
  const paid = findPaidSource(config, await readOrder(config, options.kind))
  return paid ? toCost(rows, paid.price, paid.name) : { kobo: 0, text: 'Cost: none. No source has a price.' }
}

/** As it was changed while the servers run, or else that of the settings. */
async function readOrder(config: Config, kind: Kind): Promise<readonly string[]> {
  const { dataDir, databaseUrl } = config
  if (databaseUrl === undefined && !hasDatabase(join(dataDir, SQLITE_FILE))) return config[`${kind}Sources`]
  const store = await openStore({ dataDir, databaseUrl, mustExist: true, isReading: true })
  try {
    return (await readCallOrders(store, config))[kind].names
  } finally {
    await store.close()
  }
}

const findPaidSource = ({ vendors }: Config, names: readonly string[]) =>
  names.map((name) => ({ name, price: toPrice(vendors[name as VendorName]) })).find(({ price }) => price > 0)

/** Vendors of lists have no price. */
const toPrice = (values: object | undefined) => (values && 'price' in values ? Number(values.price) : 0)

const toCost = (rows: number, price: number, from: string): Estimate => ({
  kobo: rows * price,
  text: `Cost: up to ₦${toNaira(rows * price)} (${toCount(rows, 'row')} × ₦${toNaira(price)}, the price of ${from}).`,
})

const toNaira = (kobo: number) => (kobo / 100).toFixed(2)

/** A run with a live key may cost money and asks about people, so it needs a confirmation. */
export async function requireConsent(key: string, rows: number, yes: true | undefined): Promise<void> {
  if (yes || key.startsWith('tbt_test_')) return
  if (!isInteractive())
    throw new UserError(
      'Nothing was sent. Without a terminal, confirm the cost with --yes, or look first with --dry-run.',
    )
  if (!(await confirm(`Verify ${toCount(rows, 'row')}?`))) throw new UserError('Nothing was sent.')
}
