import { styleText } from 'node:util'
import type { Command } from 'commander'
import { type Config, loadConfig } from '../context/config.ts'
import { toDatabaseText } from '../context/database-text.ts'
import { openStore, type Store } from '../context/store.ts'
import { loadKeyring } from '../database/load-keyring.ts'
import { OlderSchema } from '../database/migrate.ts'
import { runDataChecks } from '../health/data-checks.ts'
import { type Finding, failed, ok, skipped, toReason, toShown, warning } from '../health/finding.ts'
import { runLocalChecks } from '../health/local-checks.ts'
import { say } from '../server/terminal.ts'
import { ConfigError } from '../settings/environment.ts'
import { VERSION } from '../version.ts'
import { printDatabase } from './database.ts'
import { addHelp } from './help.ts'

export function addDoctorCommand(program: Command): void {
  const command = program
    .command('doctor')
    .description(
      'check settings, permissions, disk, ports, proxy, TLS, PostgreSQL, root key, audit rows, backups, sources and more',
    )
    .option('--json', 'print a JSON object')
    .option('--running', 'fail if no server answers on the configured port')
    .action(runDoctor)
  addHelp(command, {
    details:
      'It prints one line for each check: ok, warning, failed or skipped, and what to do. Run it as the user of the server, with the same settings. It calls no vendor and changes no data.',
    usesDatabase: true,
    settings: ['TABBAT_TLS_CERT', 'TABBAT_TLS_KEY', 'TABBAT_CHECKPOINT_DIR'],
    exitCodes: { 0: 'no check failed; there may be warnings', 1: 'a check failed' },
    examples: {
      doctor: 'one line for each check',
      'doctor --json --running': 'for a monitoring system: a stopped server is a failure, too',
    },
  })
}

async function runDoctor({ json, running }: { json?: true; running?: true }): Promise<void> {
  const { findings: found, database } = await examine()
  const findings = running ? found.map(requireServer) : found
  const isHealthy = findings.every(({ status }) => status !== 'failed')
  if (json)
    say(JSON.stringify({ healthy: isHealthy, version: VERSION, checks: findings.map(toShown), database }))
  else for (const finding of findings) say(toLine(finding))
  if (!isHealthy) process.exitCode = 1
}

/** Before a first start, no server is no fault. In operation it is the worst one. */
const requireServer = (finding: Finding): Finding =>
  finding.check === 'audit log' && finding.status === 'skipped'
    ? failed(finding.check, `${finding.text} Start it, or see its log.`)
    : finding

type Examination = { readonly findings: readonly Finding[]; readonly database: string | null }

async function examine(): Promise<Examination> {
  const version = ok('version', `Tabbat ${VERSION}, Node.js ${process.versions.node}.`)
  const config = readConfig()
  if (Array.isArray(config)) return { findings: [version, ...config], database: null }
  printDatabase(config)
  const findings = [version, ...(await runLocalChecks(config)), ...(await examineData(config))]
  return { findings, database: toDatabaseText(config) }
}

function readConfig(): Config | Finding[] {
  try {
    return loadConfig()
  } catch (error) {
    if (!(error instanceof ConfigError)) return [failed('settings', toReason(error))]
    // A command to type ends the sentence.
    return error.problems.map((problem) =>
      failed('settings', /type: /i.test(problem) ? problem : `${problem.replace(/[.]$/, '')}.`),
    )
  }
}

async function examineData(config: Config): Promise<Finding[]> {
  const { dataDir, databaseUrl } = config
  const found = await attempt('database', () =>
    openStore({ dataDir, databaseUrl, mustExist: true, isReading: true, keepsSchema: true }),
  )
  if (isFinding(found))
    return [found, skipped('root key', 'The data cannot be read yet: see the check of the database.')]
  try {
    return [
      ok('database', `${toDatabaseText(config)} can be opened.`),
      ...(await examineStore(config, found)),
    ]
  } finally {
    await found.close().catch(() => {})
  }
}

async function examineStore(config: Config, store: Store): Promise<Finding[]> {
  const facts = await attempt('root key', () => store.meta.read())
  if (isFinding(facts)) return [facts]
  if (facts.root_fingerprint === undefined)
    return [failed('root key', `There is no Tabbat data at ${store.place} yet. Start the server first.`)]
  const keys = await attempt('root key', () => loadKeyring(config, store))
  return isFinding(keys) ? [keys] : runDataChecks({ config, store, ...keys })
}

const isFinding = (value: object): value is Finding => 'check' in value && 'status' in value

/** Every failure is a finding. */
async function attempt<T extends object>(check: string, work: () => Promise<T>): Promise<T | Finding> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof OlderSchema && error.schema !== 0)
      return warning(check, `${error.message} Make a backup with the old version first. Nothing was changed.`)
    return failed(check, toReason(error))
  }
}

const COLOURS = { ok: 'green', warning: 'yellow', failed: 'red', skipped: 'dim' } as const

const toLine = ({ check, status, text }: Finding) =>
  `${styleText(COLOURS[status], status.padEnd(8), { stream: process.stdout })} ${check.padEnd(12)} ${text}`
