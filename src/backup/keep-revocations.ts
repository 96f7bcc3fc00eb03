import type { CheckpointFolders } from '../audit/settings.ts'
import { readSignedSize } from '../audit/signed-file.ts'
import { MINUTE_MS } from '../contract/time.ts'
import type { Keyring } from '../crypto/keyring.ts'
import type { Log } from '../telemetry/log.ts'
import { type AccessTables, isEnded, readAccess, type StoredAccess, toAccessKey } from './access.ts'
import { findOpenRevocations, markNoted } from './find-revocations.ts'
import {
  appendAccess,
  fold,
  type KnownAccess,
  type Noted,
  REVOCATIONS_FILE,
  readRevocationsFile,
  scanRevocations,
} from './revocations-file.ts'

type KeepDeps = {
  readonly tables: AccessTables
  readonly keyring: Pick<Keyring, 'revocation'>
  readonly config: CheckpointFolders
}

export const toRevocationsFolder = ({ checkpointDir, dataDir }: KeepDeps['config']) =>
  checkpointDir ?? dataDir

/** `open`: how many revocations of the file are not in the database. If that is an older copy, nothing is added. */
type Kept = { readonly open: number }

/** Adds to the file what has changed. Reads the file only if another process has written to it. */
export function createKeepRevocations({ tables, keyring, config }: KeepDeps): () => Promise<Kept> {
  const folder = toRevocationsFolder(config)
  let known: KnownAccess = new Map()
  let size = -1
  return async () => {
    const present = await readSignedSize(folder, REVOCATIONS_FILE)
    if (present !== size) known = await readKnown(folder, keyring)
    size = present
    const access = await readAccess(tables, keyring)
    const { open, isOlder } = await findOpenRevocations(tables, known, access)
    if (open > 0 && isOlder) return { open }
    const unnoted = access.filter((each) => !isNoted(known, each))
    if (unnoted.length === 0) return { open }
    const at = await markNoted(tables, known)
    const added = unnoted.map((each) => ({ ...toNoted(each), at }))
    await appendAccess(folder, keyring, added)
    known = fold([...known.values(), ...added])
    size = await readSignedSize(folder, REVOCATIONS_FILE)
    return { open }
  }
}

async function readKnown(folder: string, keyring: KeepDeps['keyring']): Promise<KnownAccess> {
  const file = await readRevocationsFile(folder)
  return fold(file ? scanRevocations(file, keyring).noted : [])
}

const toNoted = ({ kind, id, state, endsAt, role, options }: StoredAccess): Omit<Noted, 'at'> => ({
  ...{ kind, id, state, endsAt, role, options },
})

function isNoted(known: KnownAccess, access: StoredAccess): boolean {
  const noted = known.get(toAccessKey(access))
  if (!noted) return false
  // What has ended stays so in the file.
  if (isEnded(noted)) return true
  const { at: _, ...last } = noted
  return JSON.stringify(toNoted(access)) === JSON.stringify(toNoted({ ...access, ...last }))
}

export type RevocationsKeeper = {
  /** Adds what has changed now. Never fails: the log says what went wrong. */
  readonly keep: () => Promise<void>
  readonly stop: () => Promise<void>
}

type KeeperDeps = KeepDeps & {
  readonly log: Pick<Log, 'event' | 'failure'>
  /** The first one also adds what all nodes have changed, now and every minute. */
  readonly workerNumber: number
}

export function keepRevocationsFile(deps: KeeperDeps): RevocationsKeeper {
  const { log, config } = deps
  const add = createKeepRevocations(deps)
  let problem = ''
  let last: Promise<void> = Promise.resolve()
  const step = async () => {
    const folder = toRevocationsFolder(config)
    const before = problem
    problem = await add().then(
      ({ open }) => (open > 0 ? 'revocations_open' : ''),
      (error: NodeJS.ErrnoException) => {
        log.failure(error)
        return 'revocations_file_failed'
      },
    )
    if (problem !== before)
      log.event(problem === '' ? 'info' : 'error', problem || 'revocations_file_written', { folder })
  }
  const keep = () => {
    last = last.then(step)
    return last
  }
  const isFirst = deps.workerNumber === 1
  if (isFirst) void keep()
  const timer = isFirst ? setInterval(keep, MINUTE_MS).unref() : undefined
  return {
    keep,
    stop: () => {
      clearInterval(timer)
      return last
    },
  }
}
