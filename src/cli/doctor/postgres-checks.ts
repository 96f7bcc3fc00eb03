import type { Config } from '../../context/config.ts'
import { toConnectionWarning } from '../../context/warnings.ts'
import { steadyNow } from '../../contract/time.ts'
import { readConnectionLimit } from '../../database/connection-limit.ts'
import { readServerFacts, type ServerFacts } from '../../database/server-facts.ts'
import type { Store } from '../../store/store.ts'
import { type Finding, failed, ok, skipped, toWorst, warning } from './finding.ts'

type Opened = { readonly config: Config; readonly store: Store }

/** Whether PostgreSQL keeps what it has confirmed. */
export async function checkPostgres({ store }: Opened): Promise<Finding> {
  const check = 'postgresql'
  const facts = await readServerFacts(store.database)
  if (!facts) return skipped(check, 'The data is in SQLite.')
  return toWorst(check, listProblems(facts), 'It can be written, and keeps what it has confirmed.')
}

function listProblems(facts: ServerFacts): Finding[] {
  const { isStandby, isReadOnly, fsync, fullPageWrites, synchronousCommit, standbys, isSynchronous } = facts
  const findings: Finding[] = []
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
      warning(
        '',
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
  if (!isStandby && standbys > 0 && !isSynchronous)
    findings.push(
      warning(
        '',
        'Its standbys are asynchronous: a failover loses the last verifications. Set synchronous_standby_names, or synchronous_mode in Patroni.',
      ),
    )
  return findings
}

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
