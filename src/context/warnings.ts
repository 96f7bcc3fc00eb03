import { join } from 'node:path'
import { countOtherProcesses, loadNodeName } from '../audit/chain-claim.ts'
import { DEMO_NOTICE } from '../contract/demo.ts'
import { readConnectionLimit } from '../database/connection-limit.ts'
import { hasPublicSandboxKey } from '../keys/sandbox-key.ts'
import { toDatabaseUrls } from '../settings/database-url.ts'
import { isLoopback } from '../settings/setting.ts'
import { listPlainHttp } from '../sources/vendor-reader.ts'
import type { Config } from './config.ts'
import type { Context } from './context.ts'
import type { Store } from './store.ts'

/** One line for each setting that is fine on a laptop and unsafe in production. */
export function listWarnings({
  config,
  rootKeys,
  sourceChain,
  databaseWarnings,
  nodes,
  isDemo,
}: Pick<Context, 'config' | 'rootKeys' | 'sourceChain' | 'databaseWarnings' | 'nodes' | 'isDemo'>): string[] {
  const warnings = isDemo ? [DEMO_NOTICE] : []
  warnings.push(
    ...config.unknownSettings.map((name) => `${name} is not a setting of Tabbat and was ignored.`),
  )
  if (hasPublicSandboxKey(config))
    warnings.push(
      'the public sandbox key is accepted; set TABBAT_SANDBOX=off where real customers are served.',
    )
  if (rootKeys.origin === 'file')
    warnings.push(
      `the root key lies beside the data (${join(config.dataDir, 'root.key')}); set TABBAT_ROOT_KEY_FILE to keep it elsewhere.`,
    )
  if (config.exposedEnvFile !== undefined)
    warnings.push(
      `every user of this machine can read the secrets in ${config.exposedEnvFile}. Type: chmod 600 ${config.exposedEnvFile}`,
    )
  if (config.tlsCert === undefined) warnings.push(...listPlainListeners(config))
  if (config.metricsToken === undefined && listNetworkListeners(config).includes(METRICS))
    warnings.push('other machines can read the metrics; set TABBAT_METRICS_TOKEN.')
  if (isUnencrypted(config.databaseUrl))
    warnings.push(
      'the connection to PostgreSQL is not encrypted; add ?sslmode=verify-full to TABBAT_DATABASE_URL.',
    )
  for (const name of listPlainHttp(config.vendors))
    warnings.push(
      `${name} is called over plain http: numbers and credentials can be read on the network. Set its URL to https://.`,
    )
  if (config.rateLimit === 'off') warnings.push('the rate limit is off.')
  if (config.maxInFlightPerKey !== undefined && config.maxInFlightPerKey < nodes.count())
    warnings.push(
      'there are more nodes and workers than TABBAT_MAX_IN_FLIGHT_PER_KEY; each allows 1, so together they allow more.',
    )
  warnings.push(...databaseWarnings, ...sourceChain.warnings)
  return warnings
}

function listPlainListeners(config: Config): string[] {
  const advice = hasTlsProxy(config)
    ? 'put a proxy with TLS in front of it, or let only a private network reach it'
    : 'set TABBAT_TLS_CERT, or put a proxy with TLS in front of it'
  return listExposedListeners(config).map((what) => `${what} is plain HTTP on the network; ${advice}.`)
}

/** Whether callers reach a proxy with TLS. It speaks plain HTTP to the server, so that a certificate here would break the way. */
export const hasTlsProxy = ({ trustProxy, publicUrl }: Config): boolean =>
  trustProxy !== undefined && publicUrl?.startsWith('https:') === true

/** The listeners that other machines can reach, but for the API behind a proxy. */
export const listExposedListeners = (config: Config): string[] =>
  listNetworkListeners(config).filter((name) => name !== API || !hasTlsProxy(config))

/** The listeners that other machines can reach. */
function listNetworkListeners(config: Config): string[] {
  const { host, adminHost, adminPort, metricsHost, metricsPort } = config
  const names = isLoopback(host) ? [] : [API]
  if (adminPort !== 'off' && !isLoopback(adminHost)) names.push('the console')
  if (metricsPort !== 'off' && !isLoopback(metricsHost)) names.push(METRICS)
  return names
}

const API = 'the API'
const METRICS = 'the listener of TABBAT_METRICS_PORT'

function isUnencrypted(databaseUrl: string | undefined): boolean {
  if (databaseUrl === undefined) return false
  const urls = toDatabaseUrls(databaseUrl)
  const isRemote = urls.some(({ hostname }) => hostname !== '' && !isLoopback(hostname))
  return isRemote && !/^(require|verify)/.test(urls[0].searchParams.get('sslmode') ?? '')
}

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
