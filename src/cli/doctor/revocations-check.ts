import { constants, existsSync } from 'node:fs'
import { access } from 'node:fs/promises'
import { isEnded, readAccess } from '../../backup/access.ts'
import { findOpenRevocations } from '../../backup/find-revocations.ts'
import { toRevocationsFolder } from '../../backup/keep-revocations.ts'
import {
  fold,
  REVOCATIONS_FILE,
  readRevocationsFile,
  scanRevocations,
} from '../../backup/revocations-file.ts'
import type { Config } from '../../context/config.ts'
import { MINUTE_MS } from '../../contract/time.ts'
import type { Keyring } from '../../crypto/keyring.ts'
import type { Store } from '../../store/store.ts'
import { type Finding, failed, ok } from './finding.ts'

type Opened = {
  readonly config: Config
  readonly store: Store
  readonly keyring: Keyring
  readonly now: number
}

/** Servers add the revocations of other nodes once a minute. */
const LATE_MS = 2 * MINUTE_MS

/** Whether a restore of an older backup would find what was revoked, and whether this database is one. */
export async function checkRevocations({ config, store, keyring, now }: Opened): Promise<Finding> {
  const check = 'revocations'
  const folder = toRevocationsFolder(config)
  const file = await readRevocationsFile(folder)
  if (file || existsSync(folder)) await access(file?.file ?? folder, constants.W_OK)
  const { noted, unsignedLine } = file ? scanRevocations(file, keyring) : { noted: [] }
  if (unsignedLine !== undefined)
    return failed(
      check,
      `Line ${unsignedLine} of ${file?.file} is not one that this database has signed, so a restore would refuse the file. Move the file away: a running server writes it again.`,
    )
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
