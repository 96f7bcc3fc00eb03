import { constants, existsSync } from 'node:fs'
import { access } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from '../../context/config.ts'
import { MINUTE_MS } from '../../contract/time.ts'
import type { Keyring } from '../../crypto/keyring.ts'
import { ERASURES_FILE, readErasuresFile, scanErasures, toErasureFolder } from '../../people/erasures-file.ts'
import { countMissing } from '../../people/keep-erasures-file.ts'
import type { Store } from '../../store/store.ts'
import { type Finding, failed, ok } from './finding.ts'

type Opened = {
  readonly config: Config
  readonly store: Store
  readonly keyring: Keyring
  readonly now: number
}

/** Servers add the erasures of other nodes once a minute. */
const LATE_MS = 2 * MINUTE_MS

/** Whether a restore of an older backup would erase the same people again. */
export async function checkErasures({ config, store, keyring, now }: Opened): Promise<Finding> {
  const check = 'erasures'
  const folder = toErasureFolder(config)
  try {
    const path = join(folder, ERASURES_FILE)
    const file = await readErasuresFile(path)
    // A folder that does not exist is created by the first erasure.
    if (file || existsSync(folder)) await access(file ? path : folder, constants.W_OK)
    const unsigned = file && scanErasures(file, keyring).unsignedLine
    if (unsigned !== undefined)
      return failed(
        check,
        `Line ${unsigned} of ${path} is not an erasure that this database has signed, so a restore would refuse the file. Move the file away: a running server writes it again.`,
      )
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
