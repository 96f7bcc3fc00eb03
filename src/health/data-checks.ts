import { DEAD_AFTER_MS, isChainOf, readNodeName } from '../audit/chain-claim.ts'
import { readLastCheckpoint } from '../audit/checkpoint-folder.ts'
import { listUnacceptedLosses, toLossRanges } from '../audit/losses.ts'
import { openCheckpoint, type SignedHead, toPublicKey } from '../audit/open-checkpoint.ts'
import { createSigner } from '../audit/signing.ts'
import type { Config } from '../context/config.ts'
import type { Store } from '../context/store.ts'
import { DEMO_NOTICE } from '../contract/demo.ts'
import { CHECKPOINT_EVENT } from '../contract/event.ts'
import { DAY_MS, steadyNow } from '../contract/time.ts'
import type { Keyring } from '../crypto/keyring.ts'
import type { RootKeys } from '../crypto/root-key.ts'
import { readDatabaseClock } from '../database/database-clock.ts'
import { isDemo } from '../database/meta-table.ts'
import type { NodeRow } from '../database/node-table.ts'
import { readServerFacts } from '../database/server-facts.ts'
import { toProblemText } from '../notices/channels.ts'
import { listChannels } from '../notices/settings.ts'
import { VERSION } from '../version.ts'
import {
  type Checks,
  type Finding,
  type FindingPart,
  failed,
  failedAbout,
  ok,
  runChecks,
  skipped,
  toWorst,
  warning,
  warningAbout,
} from './finding.ts'
import { checkConnections, checkPatroni, checkPostgres } from './postgres-checks.ts'
import { checkErasures, checkRevocations } from './restore-checks.ts'
import { checkSources } from './source-checks.ts'

type Opened = {
  readonly config: Config
  readonly store: Store
  readonly keyring: Keyring
  readonly rootKeys: RootKeys
  readonly now: number
}

const DATA_CHECKS: Checks<Opened> = {
  data: checkData,
  clock: checkClock,
  postgresql: checkPostgres,
  connections: checkConnections,
  patroni: (opened) => checkPatroni(opened),
  'root key': checkRootKey,
  'audit rows': checkLosses,
  checkpoints: async (opened) => checkCheckpoints(opened, await listRunning(opened)),
  erasures: checkErasures,
  revocations: checkRevocations,
  backups: checkBackups,
  sources: checkSources,
  webhooks: checkWebhooks,
  notices: checkNotices,
  nodes: async (opened) => checkNodes(opened, await listRunning(opened)),
}

/** Checks of an open database with its root key. */
export const runDataChecks = (opened: Omit<Opened, 'now'>, now = Date.now()): Promise<Finding[]> =>
  runChecks(DATA_CHECKS, { ...opened, now })

async function checkData({ store }: Opened): Promise<Finding> {
  const check = 'data'
  return isDemo(await store.meta.read())
    ? warning(check, DEMO_NOTICE)
    : ok(check, 'It is not a demonstration.')
}

const CLOCK_WARNING_MS = 1000
const CLOCK_FAILURE_MS = 30_000

async function checkClock({ store }: Opened): Promise<Finding> {
  const check = 'clock'
  const before = Date.now()
  const theirs = await readDatabaseClock(store.database)
  if (theirs === undefined) return skipped(check, 'SQLite uses the clock of this machine.')
  const offMs = Math.round(theirs - (before + Date.now()) / 2)
  const text = `The clock of PostgreSQL is ${Math.abs(offMs)} ms ${offMs < 0 ? 'behind' : 'ahead of'} that of this machine.`
  if (Math.abs(offMs) < CLOCK_WARNING_MS) return ok(check, text)
  const advice = `${text} Synchronize both machines (NTP).`
  return Math.abs(offMs) < CLOCK_FAILURE_MS ? warning(check, advice) : failed(check, advice)
}

async function checkRootKey({ store, keyring, rootKeys }: Opened): Promise<Finding> {
  const check = 'root key'
  const text = `It is the one of this database (version ${keyring.version}), from ${rootKeys.where}.`
  if ((await store.meta.read()).root_previous_fingerprint !== undefined)
    return warning(check, `${text} A rotation is not finished. Run: tabbat keys rotate-root`)
  return rootKeys.origin === 'file'
    ? warning(check, `${text} It lies beside the data: see docs/keys.md for other places.`)
    : ok(check, text)
}

const BACKUP_DAYS = 7

async function checkBackups({ store, now }: Opened): Promise<Finding> {
  const check = 'backups'
  const meta = await store.meta.read()
  const { last_backup_at: at, last_backup_check_at: checkedAt, last_backup_check_result: result } = meta
  const ofDay = meta.last_backup_check_of?.slice(0, 10)
  if (checkedAt !== undefined && result !== 'good')
    return failed(
      check,
      `The backup that was checked on ${checkedAt.slice(0, 10)} is NOT good. Make another one, and check it: tabbat backup check FILE`,
    )
  if (at === undefined)
    return warning(
      check,
      store.databaseUrl === undefined
        ? 'None was made. Run: tabbat backup FILE'
        : 'None was made with tabbat backup. If you back up PostgreSQL in another way, test a restore.',
    )
  const checked =
    checkedAt === undefined
      ? 'None was checked here: tabbat backup check FILE'
      : `The one of ${ofDay} was checked on ${checkedAt.slice(0, 10)}, and is good.`
  const text = `The last was made on ${at.slice(0, 10)}. ${checked}`
  return now - Date.parse(at) > BACKUP_DAYS * DAY_MS
    ? warning(check, `${text} It is older than ${BACKUP_DAYS} days. Run: tabbat backup FILE`)
    : ok(check, text)
}

/** The processes that write to the audit log. */
const listRunning = async ({ store, now }: Opened): Promise<string[]> =>
  (await store.audit.chains()).flatMap(({ owner, beatAt }) =>
    owner !== null && beatAt > now - DEAD_AFTER_MS ? [owner] : [],
  )

/** Running servers make a checkpoint every minute if there are new rows. */
const LATE_ROW_MS = 5 * 60_000

/** `running`: the processes that write to the audit log. */
async function checkCheckpoints(
  { config, store, keyring, now }: Opened,
  running: readonly string[],
): Promise<Finding> {
  const check = 'checkpoints'
  const folder = config.checkpointDir ?? config.dataDir
  const [stored, copied] = [await store.audit.lastCheckpoint(), await readLastCheckpoint(folder)]
  if (!stored)
    return ok(check, 'There is none yet. The first is made a minute after the start of the server.')
  if (!copied && !(await hasRows(store, config.dataDir)))
    return ok(
      check,
      'This node has recorded nothing yet. It makes its first copy a minute after its first row.',
    )
  if (!copied)
    return failed(
      check,
      `There is no copy of the checkpoints in ${folder}. Without it, a shortened audit log is not noticed.`,
    )
  const publicKey = toPublicKey(createSigner(keyring['audit-signing']).publicKey, 'The root key')
  const findings: (Finding | FindingPart)[] = [stored, copied].flatMap((each) => {
    const opened = openCheckpoint(each, publicKey)
    return 'wrong' in opened ? [failed('', `The checkpoint of ${each.time} ${opened.wrong}.`)] : []
  })
  if (copied.time > stored.time)
    findings.push(
      failed('', `The database is older than its last checkpoint in ${folder}. Run: tabbat audit verify`),
    )
  if (Date.parse(stored.time) > now + CLOCK_FAILURE_MS)
    findings.push(failed('', 'The last checkpoint is in the future. Check the clock.'))
  const last = openCheckpoint(stored, publicKey)
  if (running.length > 0 && 'heads' in last && (await hasLateRow(store, last.heads, now)))
    findings.push(
      failed(
        '',
        `A server is running, but rows of the last minutes are in no checkpoint: the last is of ${stored.time}. See its log.`,
      ),
    )
  if (config.checkpointDir === undefined)
    findings.push(
      warningAbout('folder', 'The copies lie beside the data. Set TABBAT_CHECKPOINT_DIR to another disk.'),
    )
  findings.push(...(await listReceiverProblems(store)))
  return toWorst(check, findings, `The last is of ${stored.time}, with copies in ${folder}.`)
}

/** A checkpoint is sent within seconds. */
const MAX_PENDING = 3
const MAX_COUNTED = 1000

/** The endpoints that do not accept their events, as the servers have recorded them: none is called. */
async function checkWebhooks({ store }: Opened): Promise<Finding> {
  const check = 'webhooks'
  const endpoints = await store.webhooks.list()
  if (endpoints.length === 0) return ok(check, 'No endpoint is configured.')
  const findings = endpoints.flatMap(({ id, failingSince, disabledReason }) => {
    const advice = `See: tabbat webhooks deliveries ${id}`
    if (disabledReason !== undefined && disabledReason !== 'operator')
      return [warningAbout(id, `Endpoint ${id} was disabled by the server, and gets no events. ${advice}`)]
    return failingSince === undefined
      ? []
      : [
          warningAbout(
            id,
            `Endpoint ${id} has accepted nothing since ${new Date(failingSince).toISOString()}. ${advice}`,
          ),
        ]
  })
  return toWorst(check, findings, `${endpoints.length} configured, and none fails.`)
}

/** The channels that do not take their messages, as the servers have recorded them: none is called. */
async function checkNotices({ config, store }: Opened): Promise<Finding> {
  const check = 'notices'
  const channels = listChannels(config)
  if (channels.length === 0)
    return ok(
      check,
      'No channel is configured: no message is sent when an incident begins or ends. To send messages, see docs/notices.md.',
    )
  const findings = (await store.incidents.listChannels()).flatMap(({ channel, failingSince, problem }) =>
    failingSince === undefined || !channels.includes(channel)
      ? []
      : [
          warningAbout(
            channel,
            `Notices by ${channel} fail since ${new Date(failingSince).toISOString()}. ${toProblemText(problem)} Run: tabbat notices test`,
          ),
        ],
  )
  return toWorst(check, findings, `Configured: ${channels.join(', ')}. None fails.`)
}

/** The endpoints of webhooks that get the checkpoints, as the servers have recorded them: none is called. */
async function listReceiverProblems({ webhooks, deliveries }: Store): Promise<FindingPart[]> {
  const receivers = (await webhooks.list()).filter(({ events }) => events.includes(CHECKPOINT_EVENT))
  const problems = receivers.map(async ({ id, disabledAt, failingSince }) => {
    const pending = await deliveries.countPending(id, MAX_COUNTED)
    const waiting = pending < MAX_COUNTED ? String(pending) : `${MAX_COUNTED} or more`
    if (disabledAt !== undefined)
      return [warningAbout(id, `Endpoint ${id} is disabled and gets no checkpoints.`)]
    if (failingSince !== undefined)
      return [
        failedAbout(
          id,
          `Endpoint ${id} has accepted nothing since ${new Date(failingSince).toISOString()}; events that wait: ${waiting}. See: tabbat webhooks deliveries ${id}`,
        ),
      ]
    return pending > MAX_PENDING
      ? [warningAbout(id, `Events that endpoint ${id} has not got yet: ${waiting}. Is a server running?`)]
      : []
  })
  return (await Promise.all(problems)).flat()
}

/** Whether there are rows in a chain of this node. One that has not started yet has no name. */
async function hasRows({ audit }: Store, dataDir: string): Promise<boolean> {
  const node = readNodeName(dataDir)
  return node !== undefined && (await audit.ends()).some(({ chain }) => isChainOf(node, chain))
}

/** Whether a row waits for a checkpoint for long. Without new rows no checkpoint is made. */
async function hasLateRow({ audit }: Store, heads: readonly SignedHead[], now: number): Promise<boolean> {
  const signed = new Map(heads.map(({ chain, sequence }) => [chain, sequence]))
  for (const { chain, sequence } of await audit.ends()) {
    const covered = signed.get(chain) ?? 0
    const [first] = sequence > covered ? await audit.page(chain, covered, 1) : []
    if (first && now - Date.parse(first.time) > LATE_ROW_MS) return true
  }
  return false
}

/** Whether audit rows are missing that callers were answered on. Then the servers refuse verifications. */
async function checkLosses({ config, store }: Opened): Promise<Finding> {
  const check = 'audit rows'
  const { dataDir, checkpointDir = dataDir } = config
  const facts = await readServerFacts(store.database)
  // A standby may not have received the last rows yet.
  const losses = facts?.isStandby
    ? await store.losses.list('open')
    : await listUnacceptedLosses(store, { dataDir, checkpointDir })
  if (losses.length === 0) return ok(check, 'Every row that this node has acknowledged or signed is there.')
  return failed(
    check,
    `The database has lost rows that were acknowledged (${toLossRanges(losses)}), and the servers refuse verifications. If the old primary can be recovered, nothing is lost. If this is the right database, run: tabbat audit accept-loss`,
  )
}

/** Catalogue and kill switches are read every few seconds. */
const LAG_MS = 60_000

/** `running`: the processes that write to the audit log. Commands do so without heartbeats. */
async function checkNodes({ store }: Opened, running: readonly string[]): Promise<Finding> {
  if ((await readServerFacts(store.database))?.isStandby)
    return skipped('nodes', 'Heartbeats are not replicated to a standby. Ask the primary.')
  const known = await store.nodes.list(steadyNow())
  const alive = known.filter(({ isAlive }) => isAlive)
  const silent = running.filter((owner) => !known.some((node) => node.owner === owner))
  if (alive.length + silent.length === 0) return ok('nodes', 'No server is running on this database.')
  const figures = [
    ...listVersions(alive).map(([version, processes]) => `${toCount(processes)} of ${version}`),
    ...(silent.length > 0 ? [`${toCount(silent.length)} without heartbeats (commands)`] : []),
  ]
  const text = `${figures.join(', ')}; nodes ${[...new Set(alive.map(({ node }) => node))].join(', ') || 'unknown'}.`
  return toWorst('nodes', listNodeProblems(alive), text)
}

function listNodeProblems(alive: readonly NodeRow[]): FindingPart[] {
  const versions = listVersions(alive).map(([version]) => version)
  const problems = alive
    .filter(({ lagMs }) => lagMs > LAG_MS)
    .map(({ node, worker, lagMs }) =>
      warningAbout(
        `worker ${worker} of ${node}`,
        `Worker ${worker} of ${node} has not read the catalogue and the kill switches for ${Math.round(lagMs / 1000)} s. See its log.`,
      ),
    )
  const about = 'versions'
  if (versions.length > 1)
    problems.push(
      warningAbout(about, `The nodes have different versions: ${versions.join(', ')}. Finish the upgrade.`),
    )
  else if (versions.length === 1 && versions[0] !== VERSION)
    problems.push(
      warningAbout(about, `The nodes run ${versions[0]}, and this program is ${VERSION}. Restart the nodes.`),
    )
  return problems
}

const listVersions = (alive: readonly NodeRow[]) =>
  Object.entries(Object.groupBy(alive, ({ version }) => version))
    .map(([version, rows = []]) => [version, rows.length] as const)
    .toSorted(([one], [other]) => (one < other ? -1 : 1))

const toCount = (processes: number) => `${processes} ${processes === 1 ? 'process' : 'processes'}`
