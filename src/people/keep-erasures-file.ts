import type { CheckpointFolders } from '../audit/settings.ts'
import type { Keyring } from '../crypto/keyring.ts'
import type { Log } from '../telemetry/log.ts'
import type { ErasureTable } from './erasure-table.ts'
import {
  appendErasures,
  type ErasuresFile,
  readErasuresFile,
  readSize,
  scanErasures,
  toErasureFolder,
} from './erasures-file.ts'
import type { Tombstone, TombstonePosition } from './tombstone-table.ts'

const EVERY_MS = 60_000
const ROWS_AT_ONCE = 500
const START: TombstonePosition = { erasedAt: 0, id: '' }
/** Transactions of the same moment may become visible in another order than that of their times. */
const OVERLAP_MS = 600_000

type FileDeps = {
  readonly table: Pick<ErasureTable, 'listTombstones'>
  readonly keyring: Keyring
  readonly config: CheckpointFolders
  readonly log: Pick<Log, 'event' | 'failure'>
}

/** Adds the erasures of all nodes to the file of this one, now and every minute, until the returned function is called. */
export function keepErasuresFile(deps: FileDeps): () => Promise<void> {
  const step = createFileStep(deps)
  let running: Promise<unknown> | undefined
  const run = () => {
    running ??= step().finally(() => {
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

/** Adds what is new. A file that was deleted or cut gets all erasures again, and the log says so. */
export function createFileStep({ table, keyring, config, log }: FileDeps): () => Promise<void> {
  const folder = toErasureFolder(config)
  let from = START
  let size = 0
  let isFailing = false
  const add = async () => {
    if ((await readSize(folder)) < size) {
      log.event('warn', 'erasures_file_cut', { folder })
      from = START
    }
    const last = await addMissing(table, keyring, folder, from)
    from = { erasedAt: Math.max(0, last - OVERLAP_MS), id: '' }
    size = await readSize(folder)
    if (isFailing) log.event('info', 'erasures_file_written', { folder })
    isFailing = false
  }
  return () =>
    add().catch((error: NodeJS.ErrnoException) => {
      if (!isFailing) log.event('error', 'erasures_file_failed', { folder, reason: error.code ?? error.name })
      isFailing = true
      log.failure(error)
    })
}

/** Adds an erasure that is in the table. A file that is missing or empty gets all of them: it may have been deleted. */
export async function addErasure(
  table: Pick<ErasureTable, 'listTombstones'>,
  keyring: Keyring,
  folder: string,
  erasure: Tombstone,
): Promise<void> {
  if ((await readSize(folder)) === 0) await addMissing(table, keyring, folder)
  else await appendErasures(folder, keyring, [erasure])
}

/** Returns the time of the last erasure. */
export async function addMissing(
  table: Pick<ErasureTable, 'listTombstones'>,
  keyring: Keyring,
  folder: string,
  from = START,
): Promise<number> {
  let known: ReadonlySet<string> | undefined
  let last = from.erasedAt
  for await (const rows of listPages(table, from)) {
    known ??= toIds(await readErasuresFile(folder), keyring)
    await appendErasures(
      folder,
      keyring,
      rows.filter(({ id }) => !known?.has(id)),
    )
    last = rows.at(-1)?.erasedAt ?? last
  }
  return last
}

/** How many erasures the database has, and how many of those up to a time are not in these files. */
export async function countMissing(
  table: Pick<ErasureTable, 'listTombstones'>,
  keyring: Keyring,
  files: readonly ErasuresFile[],
  until = Number.MAX_SAFE_INTEGER,
): Promise<{ readonly missing: number; readonly all: number }> {
  const known = new Set(files.flatMap((file) => [...toIds(file, keyring)]))
  let [missing, all] = [0, 0]
  for await (const rows of listPages(table, START)) {
    all += rows.length
    missing += rows.filter(({ id, erasedAt }) => erasedAt <= until && !known.has(id)).length
  }
  return { missing, all }
}

async function* listPages(
  table: Pick<ErasureTable, 'listTombstones'>,
  from: TombstonePosition,
): AsyncIterable<readonly Tombstone[]> {
  for (let after = from; ; ) {
    const rows = await table.listTombstones(after, ROWS_AT_ONCE)
    const last = rows.at(-1)
    if (!last) return
    yield rows
    after = last
  }
}

const toIds = (file: ErasuresFile | undefined, keyring: Keyring): ReadonlySet<string> =>
  new Set(file ? scanErasures(file, keyring).erasures.map(({ id }) => id) : [])
