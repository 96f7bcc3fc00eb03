import type { Config } from '../config/config.ts'
import type { Keyring } from '../crypto/keyring.ts'
import type { ErasureTable } from '../store/erasure-table.ts'
import type { TombstonePosition } from '../store/tombstone-table.ts'
import { appendErasures, readErasuresFile, scanErasures, toErasureFolder } from './erasures-file.ts'

const EVERY_MS = 60_000
const ROWS_AT_ONCE = 500
const START: TombstonePosition = { erasedAt: 0, id: '' }
/** Transactions of the same moment may become visible in another order than that of their times. */
const OVERLAP_MS = 600_000

type FileDeps = {
  readonly table: Pick<ErasureTable, 'listTombstones'>
  readonly keyring: Keyring
  readonly config: Pick<Config, 'dataDir' | 'checkpointDir'>
  readonly onFailure: (error: unknown) => void
}

/** Adds the erasures of all nodes to the file of this one, now and every minute, until the returned function is called. */
export function keepErasuresFile({ table, keyring, config, onFailure }: FileDeps): () => Promise<void> {
  const folder = toErasureFolder(config)
  let from = START
  let running: Promise<unknown> | undefined
  const run = () => {
    running ??= addMissing(table, keyring, folder, from)
      .then((last) => {
        from = { erasedAt: Math.max(0, last - OVERLAP_MS), id: '' }
      })
      .catch(onFailure)
      .finally(() => {
        running = undefined
      })
  }
  run()
  const timer = setInterval(run, EVERY_MS).unref()
  return async () => {
    clearInterval(timer)
    await running
  }
}

/** Returns the time of the last erasure. */
export async function addMissing(
  table: Pick<ErasureTable, 'listTombstones'>,
  keyring: Keyring,
  folder: string,
  from = START,
): Promise<number> {
  let known: Set<string> | undefined
  for (let after = from; ; ) {
    const rows = await table.listTombstones(after, ROWS_AT_ONCE)
    const last = rows.at(-1)
    if (!last) return after.erasedAt
    known ??= await readKnown(folder, keyring)
    await appendErasures(
      folder,
      keyring,
      rows.filter(({ id }) => !known?.has(id)),
    )
    after = last
  }
}

async function readKnown(folder: string, keyring: Keyring): Promise<Set<string>> {
  const file = await readErasuresFile(folder)
  return new Set(file ? scanErasures(file, keyring).erasures.map(({ id }) => id) : [])
}
