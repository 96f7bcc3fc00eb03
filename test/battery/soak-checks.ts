import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { loadConfig } from '../../src/context/config.ts'
import { openSealedStore } from '../../src/context/sealed-store.ts'
import type { Store } from '../../src/context/store.ts'
import { type Settings, tabbat } from '../process/tabbat.ts'
import { OLD_CHAIN } from './soak-chores.ts'
import { addFault, type Told } from './soak-load.ts'

export type SoakEnd = { readonly rows: number; readonly outcomes: number; readonly counted: number }

const PAGE = 20_000

/** After the server has stopped: the chains verify, nothing acknowledged is missing, the statistics equal the log, the last backup opens. */
export async function checkEnd(settings: Settings, told: Told, backup: string): Promise<SoakEnd> {
  const dataDir = settings.TABBAT_DATA_DIR ?? ''
  const archives = join(dataDir, 'archives')
  const command = ['audit', 'verify', '--json', '--checkpoints', join(dataDir, 'checkpoints.log')]
  const given = readdirSync(archives).length > 0 ? ['--archive', archives] : []
  const verified = await tabbat(settings, ...command, ...given)
  if (verified.code !== 0) addFault(told, `tabbat audit verify: ${verified.stdout}${verified.stderr}`)
  const checked = await tabbat(settings, 'backup', 'check', backup, '--json')
  if (checked.code !== 0) addFault(told, `tabbat backup check: ${checked.stdout}${checked.stderr}`)
  const { store } = await openSealedStore(loadConfig(settings, ''))
  try {
    return await compareLog(store, told)
  } finally {
    await store.close()
  }
}

async function compareLog(store: Store, told: Told): Promise<SoakEnd> {
  const missing = new Map(told.acknowledged)
  let [rows, outcomes] = [0, 0]
  for await (const row of readLog(store)) {
    rows += 1
    if (row.phase !== 'outcome') continue
    outcomes += 1
    const reference = String(row.request_reference)
    const wanted = missing.get(reference)
    if (wanted !== undefined && wanted !== row.outcome)
      addFault(told, `${reference}: the log says ${row.outcome}, the caller was told ${wanted}`)
    missing.delete(reference)
  }
  for (const reference of missing.keys()) addFault(told, `${reference}: acknowledged and lost`)
  const list = await store.statistics.outcomes({ span: 'day', from: '', mode: null })
  const counted = list.reduce((sum, { count }) => sum + count, 0)
  if (counted !== outcomes)
    addFault(told, `the statistics count ${counted} outcomes, the log has ${outcomes}`)
  return { rows, outcomes, counted }
}

/** In pages: the log of two hours does not fit into memory at once. Without the rows that were there before. */
async function* readLog({ database }: Store): AsyncGenerator<Record<string, unknown>> {
  const chains = await database.prepare('SELECT DISTINCT chain FROM audit').all()
  const page = database.prepare(
    `SELECT sequence, phase, request_reference, outcome FROM audit
     WHERE chain = $1 AND sequence > $2 ORDER BY sequence LIMIT ${PAGE}`,
  )
  for (const chain of chains.map((row) => String(row.chain)).filter((each) => !OLD_CHAIN.test(each)))
    for (let after = 0; ; ) {
      const rows = await page.all(chain, after)
      yield* rows
      if (rows.length < PAGE) break
      after = Number(rows.at(-1)?.sequence)
    }
}
