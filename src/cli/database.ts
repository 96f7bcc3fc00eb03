import { existsSync } from 'node:fs'
import { get } from 'node:http'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isCheckout } from '../assets/asset.ts'
import type { Config } from '../config/config.ts'
import { toDatabaseText } from '../config/database-text.ts'
import { UserError } from '../errors.ts'
import { SQLITE_FILE } from '../store/store.ts'
import { confirm, isInteractive } from './prompt.ts'

const PATIENCE_MS = 1000

/** Says which database a command uses, on standard error, so that standard output holds answers only. */
export const tellDatabase = (config: Config) =>
  void process.stderr.write(`Database: ${toDatabaseText(config)}\n`)

/**
 * A command in the wrong folder would make a new, empty database in ./data while the real one lies elsewhere. A folder that
 * was named (--data-dir, TABBAT_DATA_DIR) is meant as it is.
 */
export async function refuseStrayDatabase(config: Config): Promise<void> {
  const { databaseUrl, dataDir } = config
  if (databaseUrl !== undefined || isNamed(config) || existsSync(join(dataDir, SQLITE_FILE))) return
  const other = findOtherFile() ?? (await findRunningServer(config))
  if (other === undefined) return
  const said = `There is no database at ${resolve(dataDir, SQLITE_FILE)} yet, but ${other}.`
  if (!isInteractive())
    throw new UserError(
      `${said} Give --data-dir with the folder of that one, or --data-dir ${dataDir} to make a new one here.`,
    )
  process.stderr.write(`${said}\n`)
  if (!(await confirm('Make a new, empty database here?'))) throw new UserError('Nothing was made.')
}

const isNamed = ({ shownSettings }: Config) =>
  shownSettings.find(({ name }) => name === 'TABBAT_DATA_DIR')?.origin !== 'default'

/** In a folder above this one, or where this program is installed. */
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

/** A server on the configured port that runs without a database here has it elsewhere. */
function findRunningServer({ host, port }: Config): Promise<string | undefined> {
  const reachable = { '0.0.0.0': '127.0.0.1', '::': '::1' }[host] ?? host
  const url = `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`
  if (Number(port) === 0) return Promise.resolve(undefined)
  const { promise, resolve: settle } = Promise.withResolvers<string | undefined>()
  const request = get(`${url}/health/live`, { timeout: PATIENCE_MS }, async (response) => {
    const pieces: Buffer[] = await response
      .take(1)
      .toArray()
      .catch(() => [])
    response.destroy()
    const isOurs = Buffer.concat(pieces).includes('"live"')
    settle(isOurs ? `a server that uses another one is running at ${url}` : undefined)
  })
  request.on('timeout', () => request.destroy()).on('error', () => settle(undefined))
  return promise
}
