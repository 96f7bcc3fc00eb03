import { existsSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isCheckout } from '../assets/asset.ts'
import type { Config } from '../context/config.ts'
import { toDatabaseText } from '../context/database-text.ts'
import { SQLITE_FILE } from '../database/open-database.ts'
import { hasDatabase } from '../database/sqlite-user-error.ts'
import { UserError } from '../errors.ts'
import { findRunningServer } from '../health/running-server.ts'
import { confirm, isInteractive } from './prompt.ts'

/** On standard error: standard output holds results only. */
export const printDatabase = (config: Config) =>
  void process.stderr.write(`Database: ${toDatabaseText(config)}\n`)

/**
 * A command in the wrong folder would create an empty database in ./data while the real one is elsewhere. A folder given
 * explicitly (--data-dir, TABBAT_DATA_DIR) is always used.
 */
export async function refuseStrayDatabase(config: Config): Promise<void> {
  const { databaseUrl, dataDir } = config
  if (databaseUrl !== undefined || isNamed(config) || hasDatabase(join(dataDir, SQLITE_FILE))) return
  const other = findOtherFile() ?? (await describeServer(config))
  if (other === undefined) return
  const situation = `There is no database at ${resolve(dataDir, SQLITE_FILE)} yet, but ${other}.`
  if (!isInteractive())
    throw new UserError(
      `${situation} Give --data-dir with the folder of that database, or --data-dir ${dataDir} to create a new one here.`,
    )
  process.stderr.write(`${situation}\n`)
  if (!(await confirm('Create a new, empty database here?'))) throw new UserError('No database was created.')
}

const isNamed = ({ shownSettings }: Config) =>
  shownSettings.find(({ name }) => name === 'TABBAT_DATA_DIR')?.origin !== 'default'

/** Looks in the folders above this one, and in the checkout. */
function findOtherFile(): string | undefined {
  const installation = isCheckout ? [fileURLToPath(new URL('../..', import.meta.url))] : []
  const path = [...listParents(process.cwd()), ...installation]
    .map((folder) => join(folder, 'data', SQLITE_FILE))
    .find(existsSync)
  return path && `there is one at ${path}`
}

function listParents(folder: string): string[] {
  const parent = dirname(folder)
  return parent === folder ? [] : [parent, ...listParents(parent)]
}

/** There is no database here, so a server on the configured port uses another one. */
async function describeServer(config: Config): Promise<string | undefined> {
  const url = await findRunningServer(config)
  return url && `a server that uses another one is running at ${url}`
}
