import { DEAD_AFTER_MS } from '../../audit/chain-claim.ts'
import type { Config } from '../../context/config.ts'
import { DAY_MS } from '../../contract/time.ts'
import type { Keyring } from '../../crypto/keyring.ts'
import type { RootKeys } from '../../crypto/root-key.ts'
import { readDatabaseClock } from '../../database/database-clock.ts'
import type { GuardFigures } from '../../sources/guard/call-guard.ts'
import { readSourceReports } from '../../sources/source-control.ts'
import type { SourceReport } from '../../sources/status-report.ts'
import type { Store } from '../../store/store.ts'
import { checkCheckpoints } from './checkpoint-check.ts'
import { checkErasures } from './erasures-check.ts'
import { type Checks, type Finding, failed, ok, runChecks, skipped, toWorst, warning } from './finding.ts'
import { checkLosses } from './loss-check.ts'
import { checkNodes } from './node-check.ts'
import { checkPatroni } from './patroni-check.ts'
import { checkConnections, checkPostgres } from './postgres-checks.ts'
import { checkRevocations } from './revocations-check.ts'

type Opened = {
  readonly config: Config
  readonly store: Store
  readonly keyring: Keyring
  readonly rootKeys: RootKeys
  readonly now: number
}

const DATA_CHECKS: Checks<Opened> = {
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
  nodes: async (opened) => checkNodes(opened, await listRunning(opened)),
}

/** Checks of an open database with its root key. */
export const runDataChecks = (opened: Omit<Opened, 'now'>, now = Date.now()): Promise<Finding[]> =>
  runChecks(DATA_CHECKS, { ...opened, now })

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
  const { last_backup_at: at } = await store.meta.read()
  if (at === undefined)
    return warning(
      check,
      'None was made with tabbat backup. If you back up PostgreSQL in another way, test a restore.',
    )
  const text = `The last was made on ${at.slice(0, 10)}.`
  return now - Date.parse(at) > BACKUP_DAYS * DAY_MS
    ? warning(check, `${text} It is older than ${BACKUP_DAYS} days. Run: tabbat backup FILE`)
    : ok(check, text)
}

const NEAR_CAP = 0.8

/** As running servers reported them: no vendor is called. */
async function checkSources({ store, config }: Opened): Promise<Finding> {
  const check = 'sources'
  const reports = await readSourceReports(store, config)
  if (reports.length === 0) return ok(check, 'No vendor is configured.')
  const findings = [
    ...listUnanswered(reports, config).map((text) => failed('', text)),
    ...reports.flatMap(listSourceProblems).map((text) => warning('', text)),
  ]
  const names = [...new Set(reports.map(({ source }) => source))].join(', ')
  return toWorst(check, findings, `${names}: no problems reported. To call one: tabbat sources check NAME`)
}

/** The operations that no source answers on a node: callers get 502, 503 or 504. */
function listUnanswered(reports: readonly SourceReport[], config: Config): string[] {
  const isUsed = ({ figures, operation }: SourceReport) =>
    figures !== null && !config[operation === 'verify_nin' ? 'ninSources' : 'bvnSources'].includes('registry')
  const groups = Object.groupBy(reports.filter(isUsed), ({ operation, node }) => `${operation} on ${node}`)
  return Object.entries(groups).flatMap(([where, list = []]) => {
    if (!list.every(({ disabled, figures }) => disabled || figures?.down)) return []
    const names = list.map(({ source, disabled }) => (disabled ? `${source} (disabled)` : source)).join(', ')
    return [`${where} gets no answers: ${names}. See tabbat sources status.`]
  })
}

function listSourceProblems({
  source,
  operation,
  disabled,
  figures,
  capKobo,
  spentKoboToday,
}: SourceReport): string[] {
  const name = `${source} (${operation})`
  if (disabled) return [`${name} is disabled.`]
  const problems = (figures?.warnings ?? []).map((reason) => `${name} has the warning ${reason}.`)
  if (figures?.down) problems.push(toDownText(name, figures))
  if (capKobo !== null && spentKoboToday >= NEAR_CAP * capKobo)
    problems.push(`${name} has used ${Math.round((100 * spentKoboToday) / capKobo)} % of its daily cap.`)
  return problems
}

function toDownText(name: string, { unanswered, unansweredRate, lastSuccessAt }: GuardFigures): string {
  const share = `${Math.round(100 * unansweredRate)} %`
  const last =
    lastSuccessAt === null ? 'It has not answered since the start.' : `Last answer: ${lastSuccessAt}.`
  return unanswered === 0
    ? `${name} failed, and was not needed in the last five minutes. ${last}`
    : `${name} does not answer: ${unanswered} requests of the last five minutes (${share}) failed or were not sent. ${last}`
}

/** The processes that write to the audit log. */
const listRunning = async ({ store, now }: Opened): Promise<string[]> =>
  (await store.audit.chains()).flatMap(({ owner, beatAt }) =>
    owner !== null && beatAt > now - DEAD_AFTER_MS ? [owner] : [],
  )
