import { constants, existsSync } from 'node:fs'
import { access } from 'node:fs/promises'
import { join } from 'node:path'
import { findOpenRevocations, toRevocationsFolder } from '../backup/find-revocations.ts'
import {
  fold,
  isEnded,
  REVOCATIONS_FILE,
  readAccess,
  readRevocationsFile,
  scanRevocations,
} from '../backup/revocations-file.ts'
import type { Config } from '../context/config.ts'
import type { Store } from '../context/store.ts'
import { MINUTE_MS } from '../contract/time.ts'
import type { Keyring } from '../crypto/keyring.ts'
import {
  countMissing,
  ERASURES_FILE,
  readErasuresFile,
  scanErasures,
  toErasureFolder,
} from '../people/erasures-file.ts'
import { type Finding, failed, ok } from './finding.ts'

type Opened = {
  readonly config: Config
  readonly store: Store
  readonly keyring: Keyring
  readonly now: number
}

/** Servers add what other nodes have erased and revoked once a minute. */
const LATE_MS = 2 * MINUTE_MS

/** Whether a restore of an older backup would erase the same people again. */
export async function checkErasures({ config, store, keyring, now }: Opened): Promise<Finding> {
  const check = 'erasures'
  const folder = toErasureFolder(config)
  try {
    const path = join(folder, ERASURES_FILE)
    const file = await readErasuresFile(path)
    await requireWritable(file && path, folder)
    const unsigned = file && scanErasures(file, keyring).unsignedLine
    if (unsigned !== undefined) return unsignedFinding(check, unsigned, path, 'an erasure')
    const { missing, all } = await countMissing(store.erasure, keyring, file ? [file] : [], now - LATE_MS)
    if (missing > 0)
      return failed(
        check,
        `Not in ${ERASURES_FILE} in ${folder}: ${missing} of ${all} erasures. A restore of an older backup would bring these people back. A running server adds them within a minute.`,
      )
    return ok(
      check,
      all === 0 ? 'No person was erased.' : `${all} made. Those older than two minutes are in ${path}.`,
    )
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException
    return failed(
      check,
      `${ERASURES_FILE} in ${folder} cannot be written (${code}). Without it, a restore of an older backup brings erased people back. Let the user of the server write there.`,
    )
  }
}

/** Whether a restore of an older backup would find what was revoked, and whether this database is one. */
export async function checkRevocations({ config, store, keyring, now }: Opened): Promise<Finding> {
  const check = 'revocations'
  const folder = toRevocationsFolder(config)
  const file = await readRevocationsFile(folder)
  await requireWritable(file?.file, folder)
  const { noted, unsignedLine } = file ? scanRevocations(file, keyring) : { noted: [] }
  if (file && unsignedLine !== undefined) return unsignedFinding(check, unsignedLine, file.file, 'one')
  const [known, stored] = [fold(noted), await readAccess(store, keyring)]
  const { open } = await findOpenRevocations(store, known, stored)
  if (open > 0)
    return failed(
      check,
      `This database is older than ${REVOCATIONS_FILE}, by which access was revoked or changed: ${open}. Run: tabbat backup revocations ${folder} --apply. If this is intended, move the file away.`,
    )
  const old = stored.filter(({ endedAt }) => endedAt !== undefined && endedAt < now - LATE_MS)
  const missing = old.filter(({ kind, id }) => !known.has(`${kind} ${id}`)).length
  if (missing > 0)
    return failed(
      check,
      `Not in ${REVOCATIONS_FILE} in ${folder}: ${missing} of ${old.length} revocations. A restore of an older backup would not revoke them again. A running server adds them within a minute.`,
    )
  const all = stored.filter(isEnded).length
  return ok(
    check,
    all === 0 ? 'Nothing was revoked.' : `${all} made. Those older than two minutes are in ${folder}.`,
  )
}

/** A folder that does not exist is created by the first line. */
async function requireWritable(file: string | undefined, folder: string): Promise<void> {
  if (file !== undefined || existsSync(folder)) await access(file ?? folder, constants.W_OK)
}

const unsignedFinding = (check: string, line: number, path: string, what: string) =>
  failed(
    check,
    `Line ${line} of ${path} is not ${what} that this database has signed, so a restore would refuse the file. Move the file away: a running server writes it again.`,
  )
