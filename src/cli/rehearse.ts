import { randomUUID } from 'node:crypto'
import { accessSync, constants, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { styleText } from 'node:util'
import type { Command } from 'commander'
import { loadConfig } from '../context/config.ts'
import { makeFolderSync, toFolderProblem } from '../crypto/make-folder.ts'
import { refuseUntrustedFolder } from '../crypto/trusted-path.ts'
import { UserError } from '../errors.ts'
import type { Exercise } from '../rehearsal/exercise.ts'
import { type Finding, toExitCode, toTime, toTimes, WORDS } from '../rehearsal/finding.ts'
import { type Report, toHeadline, toReportJson, toReportPage } from '../rehearsal/report-page.ts'
import type { Stage } from '../rehearsal/stage.ts'
import { dim, failWith, say, strong } from '../server/terminal.ts'
import { readGiven } from '../settings/environment.ts'
import { isLoopback } from '../settings/setting.ts'
import { VERSION } from '../version.ts'
import { printDatabase } from './database.ts'
import { readDatabaseUrl, readNamedSecret } from './database-url.ts'
import { addHelp } from './help.ts'

type Options = {
  url?: string
  keyFile?: string
  databaseUrl?: string
  databaseUrlFile?: string
  backup?: string
  yesOnACopy?: true
  failoverCommand?: string
  only?: readonly string[]
  skip?: readonly string[]
  list?: true
  keep?: true
  report?: string
  json?: true
}

export function addRehearseCommand(program: Command): void {
  const command = program
    .command('rehearse')
    .description(
      'make vendors, database, disk, keys and backups fail on a copy of the data, and report what happened',
    )
    .option('--backup <path>', 'a backup, or a folder of backups: the newest is restored and checked')
    .option('--database-url <url>', 'a copy of the PostgreSQL database, on which the exercises are made')
    .option('--database-url-file <file>', 'file with that address, if it holds a password')
    .option('--url <address>', 'a staging server to ask from outside, instead of a copy')
    .option('--key-file <file>', 'with --url: file with a test key (tbt_test_…) of that server')
    .option(
      '--failover-command <command>',
      'shell command that makes another server of PostgreSQL the primary',
    )
    .option(
      '--yes-on-a-copy',
      'confirm that --database-url is a copy, or --url a staging server: they are changed',
    )
    .option('--only <names...>', 'make these exercises only')
    .option('--skip <names...>', 'leave these exercises out')
    .option('--list', 'list the exercises, and make none')
    .option('--keep', 'keep the copy of the data')
    .option('--report <folder>', 'write report.html and report.json to this folder')
    .option('--json', 'print a JSON object')
    .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : CANNOT))
    .action(async (options: Options) => {
      try {
        await runRehearse(options)
      } catch (error) {
        failWith(error)
        process.exitCode = CANNOT
      }
    })
  addHelp(command, {
    details:
      'It copies the data, starts a server on the copy with your settings, and makes things fail one after the other. Vendors are replaced by simulated ones, receivers of webhooks by one of its own. The server on the copy cannot connect to another machine, so no call is paid and nobody is told. The people are synthetic. Servers may run meanwhile: their data is only read. See docs/rehearsal.md.\n\nThe copy needs as much room in the temporary folder (TMPDIR) as the data. It is deleted at the end, also after Ctrl-C.',
    usesDatabase: true,
    settings: ['TABBAT_NIN_SOURCES', 'TABBAT_BVN_SOURCES', 'TABBAT_CHECKPOINT_DIR'],
    exitCodes: {
      0: 'all was as expected',
      1: 'something differed',
      2: 'it could not be run, or an exercise could not, or one named by --only was skipped; the reason is printed',
      130: 'interrupted by Ctrl-C',
      131: 'interrupted by SIGQUIT',
      143: 'interrupted by SIGTERM',
    },
    examples: {
      'rehearse --report ./rehearsal': 'all exercises, and a page with charts',
      'rehearse --backup /backups --only restore':
        'restore the newest backup, start a server on it, and ask it',
      'rehearse --url https://staging.example.com --key-file test.key --yes-on-a-copy':
        'ask a staging server from outside',
      'rehearse --list': 'the names of the exercises',
    },
  })
}

const CANNOT = 2

function readUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback(url.hostname))
  if (!url || !isSafe)
    throw new UserError(
      '--url must be a URL such as https://staging.example.com; plain http is for this machine.',
    )
  if (url.href === `${url.origin}/`) return url.origin
  throw new UserError(
    '--url must be the address of a server, without a path, a query or a user. Paths begin with /api there.',
  )
}

async function runRehearse(options: Options): Promise<void> {
  // For an end before the result, such as a reader of the output that goes away.
  process.exitCode = CANNOT
  refuseContradictions(options)
  if (options.url !== undefined) return rehearseStaging(readUrl(options.url), options)
  const chosen = choose(await loadExercises(), options)
  if (options.list) return listExercises(chosen, options)
  const copyUrl = readDatabaseUrl(options, 'the copy')
  if (copyUrl !== undefined && !options.yesOnACopy)
    throw new UserError(
      'The exercises change the database of --database-url. If it is a copy, confirm that with --yes-on-a-copy.',
    )
  const config = loadConfig()
  printDatabase({ ...config, databaseUrl: copyUrl ?? config.databaseUrl })
  const startedAt = new Date()
  prepareFolder(options.report)
  const interrupt = onInterrupt()
  const { openStage } = await import('../rehearsal/stage.ts')
  const stage = await openStage(
    {
      config,
      given: readGiven(),
      backup: options.backup,
      databaseUrl: copyUrl,
      failoverCommand: options.failoverCommand,
      keep: options.keep === true,
      copies: chosen.some(({ name }) => name === 'restore') ? 2 : 1,
      say: tell,
    },
    interrupt.onCleanup,
  )
  try {
    const findings = await runAll(chosen, stage, options)
    conclude(findings, { ...stage, origin: `a copy of ${stage.origin}` }, { startedAt, options })
  } finally {
    await stage.close()
    interrupt.end()
  }
}

/** What would be ignored. */
function refuseContradictions(options: Options): void {
  const { url, backup, databaseUrl: address, databaseUrlFile, keep, keyFile, failoverCommand } = options
  const ofCopy = {
    '--backup': backup,
    '--database-url': address,
    '--database-url-file': databaseUrlFile,
    '--keep': keep,
  }
  const [unused] = Object.entries(ofCopy).find(([, given]) => given !== undefined) ?? []
  if (url !== undefined && unused !== undefined)
    throw new UserError(
      `${unused} does not go with --url: a server is asked from outside, and nothing is copied.`,
    )
  if (url === undefined && keyFile !== undefined)
    throw new UserError('--key-file goes with --url only: on a copy, the rehearsal makes a key of its own.')
  if (failoverCommand !== undefined && (url ?? address ?? databaseUrlFile) === undefined)
    throw new UserError(
      '--failover-command needs --database-url, --database-url-file or --url: the copy is SQLite otherwise, which has no other server.',
    )
}

/** Only what can be seen from outside. Nothing is started here. */
async function rehearseStaging(url: string, options: Options): Promise<void> {
  const { STAGING_EXERCISES } = await import('../rehearsal/staging-exercises.ts')
  const chosen = choose(STAGING_EXERCISES, options)
  if (options.list) return listExercises(chosen, options)
  if (!options.yesOnACopy)
    throw new UserError(
      `The exercises send verifications to ${url}, which are in its audit log. If it is not live, confirm that with --yes-on-a-copy.`,
    )
  const staging = {
    url: () => url,
    key: readKey(options.keyFile),
    kind: 'nin',
    failoverCommand: options.failoverCommand,
    origin: url,
    notes: ['Only what can be seen from outside was rehearsed, with a test key: no vendor was asked.'],
  } as const
  const startedAt = new Date()
  prepareFolder(options.report)
  // It ends the command of --failover-command, too.
  const interrupt = onInterrupt()
  conclude(await runAll(chosen, staging, options), staging, { startedAt, options })
  interrupt.end()
}

/** A live key would ask vendors, who are paid. */
function readKey(path: string | undefined): string {
  if (path === undefined)
    throw new UserError('Give --key-file with a file that holds a test key of that server.')
  const key = readNamedSecret(path, 'key')
  if (key.startsWith('tbt_test_')) return key
  throw new UserError(
    'The key in --key-file must be a test key (tbt_test_…): a live key would ask vendors, who are paid.',
  )
}

async function runAll<S>(chosen: readonly Exercise<S>[], stage: S, options: Options): Promise<Finding[]> {
  const { runExercise } = await import('../rehearsal/exercise.ts')
  const findings: Finding[] = []
  for (const exercise of chosen) {
    const done = begin(exercise, options)
    const finding = await runExercise(exercise, stage)
    findings.push(finding)
    done(finding)
  }
  return findings
}

type Run = { readonly startedAt: Date; readonly options: Options }

/** Prints and writes the result, and sets the exit code. */
function conclude(
  findings: readonly Finding[],
  { origin, notes }: Pick<Stage, 'origin' | 'notes'>,
  { startedAt, options }: Run,
): void {
  const exitCode = toExitCode(findings, options.only)
  const report: Report = {
    format: 'tabbat-rehearsal',
    version: 1,
    tabbat: VERSION,
    startedAt: startedAt.toISOString(),
    tookMs: Date.now() - startedAt.getTime(),
    place: origin,
    notes,
    exitCode,
    findings,
  }
  if (options.report !== undefined) {
    writeNew(join(options.report, 'report.json'), `${JSON.stringify(toReportJson(report, true))}\n`)
    writeNew(join(options.report, 'report.html'), toReportPage(report))
    tell(`Written: ${join(options.report, 'report.html')} and report.json.`)
  }
  if (options.json) say(JSON.stringify(toReportJson(report, false)))
  else {
    for (const note of notes) say(dim(note))
    say(strong(`${toHeadline(findings)}, in ${toTime(report.tookMs)}.`))
  }
  // Only now: if the reader of the output has gone away, the process has ended.
  process.exitCode = exitCode
}

/** Takes the place of what has the name, also of a link: nothing is written through it. */
function writeNew(path: string, text: string): void {
  const draft = `${path}.${randomUUID()}`
  writeFileSync(draft, text, { flag: 'wx' })
  renameSync(draft, path)
}

/** In the order in which they are made. */
const loadExercises = async (): Promise<readonly Exercise[]> => [
  ...(await import('../rehearsal/vendor-exercises.ts')).VENDOR_EXERCISES,
  ...(await import('../rehearsal/service-exercises.ts')).SERVICE_EXERCISES,
  ...(await import('../rehearsal/database-exercises.ts')).DATABASE_EXERCISES,
  ...(await import('../rehearsal/crash-exercises.ts')).CRASH_EXERCISES,
  ...(await import('../rehearsal/data-exercises.ts')).DATA_EXERCISES,
]

function choose<S>(all: readonly Exercise<S>[], options: Options): readonly Exercise<S>[] {
  const { only, skip = [], failoverCommand } = options
  const names = all.map(({ name }) => name)
  const unknown = [...(only ?? []), ...skip].find((name) => !names.includes(name))
  if (unknown !== undefined)
    throw new UserError(`There is no such exercise. Choose from: ${names.join(', ')}.`)
  const chosen = all.filter(({ name }) => (only?.includes(name) ?? true) && !skip.includes(name))
  if (chosen.length === 0) throw new UserError('No exercise is left. Give other names to --only or --skip.')
  if (failoverCommand !== undefined && !chosen.some(({ name }) => name === 'failover'))
    throw new UserError(
      '--failover-command is for the exercise failover, which --only or --skip leaves out. Leave the command out, or choose failover.',
    )
  return chosen
}

function listExercises(chosen: readonly Exercise<never>[], { json }: Options): void {
  process.exitCode = 0
  if (json) say(JSON.stringify(chosen.map(({ name, title, about }) => ({ name, title, about }))))
  else for (const { name, about } of chosen) say(`${name.padEnd(18)} ${about}`)
}

/** Before the exercises: after some minutes, a folder that cannot be written would be annoying. */
function prepareFolder(folder: string | undefined): void {
  if (folder === undefined) return
  try {
    makeFolderSync(folder)
    refuseUntrustedFolder(folder)
    accessSync(folder, constants.W_OK)
  } catch (error) {
    if (error instanceof UserError) throw error
    throw new UserError(`${toFolderProblem(folder, error)} Name another folder with --report.`)
  }
}

/** Progress is on standard error: standard output has the result. */
const tell = (line: string) => void process.stderr.write(`${line}\n`)

/** Ends with a signal only after everything that was started is ended and deleted. */
function onInterrupt() {
  let clean: (() => Promise<void>) | undefined
  const stop = (signal: 'SIGINT' | 'SIGTERM' | 'SIGQUIT') => {
    tell('Interrupted. Ending what was started.')
    const code = { SIGINT: 130, SIGQUIT: 131, SIGTERM: 143 }[signal]
    void (clean?.() ?? Promise.resolve()).finally(() => process.exit(code))
  }
  process.on('SIGINT', stop).on('SIGTERM', stop).on('SIGQUIT', stop)
  // A terminal that is gone must not end the rehearsal before it has cleaned up.
  process.on('SIGHUP', () => stop('SIGTERM'))
  return {
    onCleanup: (run: () => Promise<void>) => {
      clean = run
    },
    end: () => void process.off('SIGINT', stop).off('SIGTERM', stop).off('SIGQUIT', stop),
  }
}

const COLOURS = { as_expected: 'green', differed: 'red', skipped: 'dim', could_not_run: 'yellow' } as const

function begin({ title }: Exercise<never>, { json }: Options): (finding: Finding) => void {
  const isLive = process.stderr.isTTY === true
  if (isLive) process.stderr.write(styleText('dim', `… ${title}`, { stream: process.stderr }))
  return (finding) => {
    if (isLive) process.stderr.write('\r\u001b[2K')
    if (json) tell(`${finding.name}: ${WORDS[finding.status]}`)
    else printFinding(finding)
  }
}

function printFinding({ title, status, checks, notes, ...times }: Finding): void {
  const word = styleText(COLOURS[status], WORDS[status].padEnd(13), { stream: process.stdout })
  say(`${word} ${strong(title)}${status === 'skipped' ? '' : dim(`  ${toTimes(times)}`)}`)
  for (const { expected, seen, ok } of checks)
    if (!ok) say(`${INDENT}expected: ${expected}\n${INDENT}seen:     ${seen}`)
  for (const note of notes) say(dim(`${INDENT}${note}`))
}

const INDENT = ' '.repeat(14)
