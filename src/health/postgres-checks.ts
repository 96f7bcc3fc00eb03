import type { Config } from '../context/config.ts'
import type { Store } from '../context/store.ts'
import { toConnectionWarning } from '../context/warnings.ts'
import { steadyNow } from '../contract/time.ts'
import { readConnectionLimit } from '../database/connection-limit.ts'
import { readServerFacts, type ServerFacts } from '../database/server-facts.ts'
import { toDatabaseUrls } from '../settings/database-url.ts'
import { openHttp } from '../sources/http.ts'
import {
  type Finding,
  type FindingPart,
  failed,
  ok,
  skipped,
  toWorst,
  warning,
  warningAbout,
} from './finding.ts'

type Opened = { readonly config: Config; readonly store: Store }

/** Whether PostgreSQL keeps what it has confirmed. */
export async function checkPostgres({ config, store }: Opened): Promise<Finding> {
  const check = 'postgresql'
  const facts = await readServerFacts(store.database)
  if (!facts) return skipped(check, 'The data is in SQLite.')
  const findings = [...listProblems(facts), ...listStandbyProblems(facts, listHosts(config).length)]
  const where = facts.isSynchronous ? ', also on a standby' : ''
  return toWorst(check, findings, `It can be written, and keeps what it has confirmed${where}.`)
}

function listProblems(facts: ServerFacts): (Finding | FindingPart)[] {
  const { isStandby, isReadOnly, fsync, fullPageWrites, synchronousCommit } = facts
  const findings: (Finding | FindingPart)[] = []
  if (!fsync)
    findings.push(
      failed(
        '',
        'fsync is off: a crash of the machine loses or damages data. Set fsync = on in postgresql.conf.',
      ),
    )
  if (!['on', 'remote_apply', 'remote_write'].includes(synchronousCommit))
    findings.push(
      failed(
        '',
        `synchronous_commit is ${synchronousCommit} in our connections: something between resets it.`,
      ),
    )
  if (!fullPageWrites)
    findings.push(
      warningAbout(
        'full_page_writes',
        'full_page_writes is off: a crash of the machine damages pages, unless the file system prevents it (ZFS). Set it to on.',
      ),
    )
  if (isStandby)
    findings.push(
      warning(
        '',
        'This is a standby: backup and audit verify work here, but servers need the address of the primary.',
      ),
    )
  else if (isReadOnly)
    findings.push(failed('', 'It is read-only (default_transaction_read_only), and servers must write.'))
  return findings
}

/** `hosts`: how many servers TABBAT_DATABASE_URL names. With several, one shall take over from another. */
function listStandbyProblems({ isStandby, standbys, isSynchronous }: ServerFacts, hosts: number) {
  if (isStandby || isSynchronous) return []
  if (standbys > 0)
    return [
      warningAbout(
        'standbys',
        'Its standbys are asynchronous: a failover loses the last verifications. Set synchronous_standby_names, or synchronous_mode in Patroni.',
      ),
    ]
  if (hosts < 2) return []
  return [
    warningAbout(
      'no standby',
      'No standby is connected, although TABBAT_DATABASE_URL names several servers: verifications are on one disk only, and no server can take over. Start the standbys, and see their logs; with Patroni run: patronictl list',
    ),
  ]
}

const listHosts = ({ databaseUrl }: Config): string[] =>
  databaseUrl === undefined ? [] : [...new Set(toDatabaseUrls(databaseUrl).map(({ host }) => host))]

/** Whether PostgreSQL allows as many connections as the servers may open. */
export async function checkConnections({ config, store }: Opened): Promise<Finding> {
  const check = 'connections'
  const most = await readConnectionLimit(store.database)
  if (most === undefined) return skipped(check, 'The data is in SQLite.')
  if ((await readServerFacts(store.database))?.isStandby)
    return skipped(check, 'Servers open theirs to the primary.')
  const alive = (await store.nodes.list(steadyNow())).filter(({ isAlive }) => isAlive).length
  // The servers of this node may not be running yet.
  const processes = Math.max(alive, config.workers)
  const text = toConnectionWarning(most, processes, config)
  if (text !== undefined) return warning(check, text)
  return ok(
    check,
    `PostgreSQL allows ${most}, and ${processes} server processes may open ${processes * config.databaseConnections}.`,
  )
}

/** The usual port of its REST API, on the machine of its PostgreSQL. */
const PORT = 8008
const WAIT_MS = 1000

/** Before this version, a primary that wakes from a pause takes its lock back through the v3 API of etcd. */
const SAFE_VERSION = [3, 0, 3]

/** What `GET /patroni` says. */
type Patroni = {
  readonly version: string
  readonly tags: { readonly etcd_api?: unknown }
  readonly isPaused: boolean
}

/** Whether the Patroni of the servers can be trusted with a failover, where it answers. */
export async function checkPatroni({ config }: { readonly config: Config }, port = PORT): Promise<Finding> {
  const check = 'patroni'
  if (config.databaseUrl === undefined) return skipped(check, 'The data is in SQLite.')
  const hosts = [...new Set(toDatabaseUrls(config.databaseUrl).map(({ hostname }) => hostname))]
  const answers = await Promise.all(
    hosts.map(async (host) => ({ host, patroni: host === '' ? undefined : await askPatroni(host, port) })),
  )
  const known = answers.flatMap(({ host, patroni }) => (patroni ? [{ host, patroni }] : []))
  if (known.length === 0)
    return skipped(check, `None answers on port ${port} of the addresses in TABBAT_DATABASE_URL.`)
  const findings = known.flatMap(({ host, patroni }) => listPatroniProblems(host, patroni))
  const versions = known.map(({ host, patroni }) => `${patroni.version} at ${host}`)
  return toWorst(check, findings, `${versions.join(', ')}.`)
}

function listPatroniProblems(host: string, { version, tags, isPaused }: Patroni): FindingPart[] {
  const findings: FindingPart[] = []
  if (!isSafe(version) && tags.etcd_api !== 'v2')
    findings.push(
      warningAbout(
        `version at ${host}`,
        `Patroni ${version} at ${host}: a failover can lose acknowledged verifications when the machine of the primary pauses. Install 3.0.3 or later, or use the v2 API of etcd as deploy/patroni/patroni.yaml does: see docs/production.md.`,
      ),
    )
  if (isPaused)
    findings.push(
      warningAbout(
        `pause at ${host}`,
        `Patroni at ${host} is paused, and replaces no dead primary. Type: patronictl resume`,
      ),
    )
  return findings
}

function isSafe(version: string): boolean {
  const parts = version.split('.').map((part) => Number.parseInt(part, 10) || 0)
  const index = SAFE_VERSION.findIndex((part, at) => part !== (parts[at] ?? 0))
  return index === -1 || (parts[index] ?? 0) > (SAFE_VERSION[index] ?? 0)
}

/** Undefined if nothing answers there, or something else. */
async function askPatroni(host: string, port: number): Promise<Patroni | undefined> {
  const url = `http://${host}:${port}`
  const { send, close } = openHttp({ source: 'patroni', url, allowPrivate: true, attemptMs: WAIT_MS })
  try {
    const call = { signal: AbortSignal.timeout(WAIT_MS), reference: 'doctor' }
    const { body } = await send({ method: 'GET', path: '/patroni' }, call)
    const { patroni, tags, pause } = (body ?? {}) as {
      patroni?: { version?: unknown }
      tags?: Patroni['tags']
      pause?: unknown
    }
    if (typeof patroni?.version !== 'string') return undefined
    return { version: patroni.version, tags: tags ?? {}, isPaused: Boolean(pause) }
  } catch {
    return undefined
  } finally {
    await close()
  }
}
