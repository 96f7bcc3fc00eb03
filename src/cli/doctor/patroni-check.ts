import type { Config } from '../../context/config.ts'
import { toDatabaseUrls } from '../../settings/database-url.ts'
import { openHttp } from '../../sources/http.ts'
import { type Finding, skipped, toWorst, warning } from './finding.ts'

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
  const findings = known.flatMap(({ host, patroni }) => listProblems(host, patroni))
  const versions = known.map(({ host, patroni }) => `${patroni.version} at ${host}`)
  return toWorst(check, findings, `${versions.join(', ')}.`)
}

function listProblems(host: string, { version, tags, isPaused }: Patroni): Finding[] {
  const findings: Finding[] = []
  if (!isSafe(version) && tags.etcd_api !== 'v2')
    findings.push(
      warning(
        '',
        `Patroni ${version} at ${host}: a failover can lose acknowledged verifications when the machine of the primary pauses. Install 3.0.3 or later, or use the v2 API of etcd as deploy/patroni/patroni.yaml does: see docs/production.md.`,
      ),
    )
  if (isPaused)
    findings.push(
      warning('', `Patroni at ${host} is paused, and replaces no dead primary. Type: patronictl resume`),
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
