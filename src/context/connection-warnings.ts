import { countOtherProcesses, loadNodeName } from '../audit/chain-claim.ts'
import type { Config } from '../config/config.ts'
import { readConnectionLimit } from '../database/connection-limit.ts'
import type { Store } from '../store/store.ts'

/** Beyond this share of the limit there is no room for commands, backups and another node. */
const NEAR = 0.8

type Settings = Pick<Config, 'dataDir' | 'workers' | 'databaseConnections'>

/** Warns when all nodes and workers together may open about as many connections as PostgreSQL allows. */
export async function listConnectionWarnings(config: Settings, store: Store): Promise<string[]> {
  const most = await readConnectionLimit(store.database)
  if (most === undefined) return []
  const processes = config.workers + (await countOtherProcesses(store.audit, loadNodeName(config.dataDir)))
  return [toConnectionWarning(most, processes, config)].flatMap((text) => text ?? [])
}

/** Undefined when there is room for all server processes, and for more. */
export function toConnectionWarning(
  most: number,
  processes: number,
  { databaseConnections }: Pick<Config, 'databaseConnections'>,
): string | undefined {
  const wanted = processes * databaseConnections
  if (wanted <= most * NEAR) return undefined
  return `PostgreSQL allows ${most} connections, and the server processes of this database may open ${wanted} (${processes} times TABBAT_DATABASE_CONNECTIONS). Lower TABBAT_DATABASE_CONNECTIONS, or raise the limit.`
}
