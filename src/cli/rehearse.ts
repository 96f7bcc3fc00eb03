import { styleText } from 'node:util'
import { type Command, InvalidArgumentError } from 'commander'
import { loadConfig } from '../context/config.ts'
import { UserError } from '../errors.ts'
import type { Exercise } from '../rehearsal/exercise.ts'
import type { Finding } from '../rehearsal/finding.ts'
import { dim, failWith, say, strong } from '../server/terminal.ts'
import { readEnvFile, readEnvironment, withoutEmpty } from '../settings/environment.ts'
import { databaseUrl } from '../settings/setting.ts'
import { printDatabase } from './database.ts'
import { addHelp } from './help.ts'

type Options = {
  databaseUrl?: string
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
    .option(
      '--database-url <url>',
      'a copy of the PostgreSQL database, on which the exercises are made',
      readDatabaseUrl,
    )
    .option(
      '--failover-command <command>',
      'shell command that makes another server of PostgreSQL the primary',
    )
    .option('--yes-on-a-copy', 'confirm that --database-url is a copy: it is changed')
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
      2: 'it could not be run, or an exercise could not; the reason is printed',
      130: 'interrupted by Ctrl-C',
      143: 'interrupted by SIGTERM',
    },
    examples: {
      'rehearse --report /var/tmp/rehearsal': 'all exercises, and a page with charts',
      'rehearse --backup /backups --only restore':
        'restore the newest backup, start a server on it, and ask it',
      'rehearse --list': 'the names of the exercises',
    },
  })
}

const CANNOT = 2

function readDatabaseUrl(text: string): string {
  try {
    return databaseUrl(text)
  } catch (error) {
    throw new InvalidArgumentError(`It ${(error as Error).message}.`)
  }
}

async function runRehearse(options: Options): Promise<void> {
  const chosen = choose(await loadExercises(), options)
  if (options.list) return listExercises(chosen, options)
  if (options.databaseUrl !== undefined && !options.yesOnACopy)
    throw new UserError(
      'The exercises change the database of --database-url. If it is a copy, confirm that with --yes-on-a-copy.',
    )
  const config = loadConfig()
  printDatabase(config)
  const interrupt = onInterrupt()
  const { openStage } = await import('../rehearsal/stage.ts')
  const { runExercise } = await import('../rehearsal/exercise.ts')
  const { toExitCode } = await import('../rehearsal/finding.ts')
  const stage = await openStage(
    {
      config,
      given: { ...readEnvFile('.env'), ...withoutEmpty(readEnvironment()) },
      backup: options.backup,
      databaseUrl: options.databaseUrl,
      failoverCommand: options.failoverCommand,
      keep: options.keep === true,
      say: tell,
    },
    interrupt.onCleanup,
  )
  const findings: Finding[] = []
  try {
    for (const exercise of chosen) {
      const done = begin(exercise, options)
      const finding = await runExercise(exercise, stage)
      findings.push(finding)
      done(finding)
    }
  } finally {
    await stage.close()
    interrupt.end()
  }
  process.exitCode = toExitCode(findings)
  if (options.json) say(JSON.stringify({ findings }))
}

/** In the order in which they are made. */
const loadExercises = async (): Promise<readonly Exercise[]> => [
  ...(await import('../rehearsal/vendor-exercises.ts')).VENDOR_EXERCISES,
  ...(await import('../rehearsal/service-exercises.ts')).SERVICE_EXERCISES,
  ...(await import('../rehearsal/database-exercises.ts')).DATABASE_EXERCISES,
  ...(await import('../rehearsal/crash-exercises.ts')).CRASH_EXERCISES,
  ...(await import('../rehearsal/data-exercises.ts')).DATA_EXERCISES,
]

function choose<S>(all: readonly Exercise<S>[], { only, skip = [] }: Options): readonly Exercise<S>[] {
  const names = all.map(({ name }) => name)
  const unknown = [...(only ?? []), ...skip].find((name) => !names.includes(name))
  if (unknown !== undefined)
    throw new UserError(`There is no such exercise. Choose from: ${names.join(', ')}.`)
  const chosen = all.filter(({ name }) => (only?.includes(name) ?? true) && !skip.includes(name))
  if (chosen.length > 0) return chosen
  throw new UserError('No exercise is left. Give other names to --only or --skip.')
}

function listExercises(chosen: readonly Exercise[], { json }: Options): void {
  if (json) say(JSON.stringify(chosen.map(({ name, title, about }) => ({ name, title, about }))))
  else for (const { name, about } of chosen) say(`${name.padEnd(18)} ${about}`)
}

/** Progress is on standard error: standard output has the result. */
const tell = (line: string) => void process.stderr.write(`${line}\n`)

/** Ends with a signal only after everything that was started is ended and deleted. */
function onInterrupt() {
  let clean: (() => Promise<void>) | undefined
  const stop = (signal: 'SIGINT' | 'SIGTERM') => {
    tell('Interrupted. Ending what was started.')
    const code = signal === 'SIGINT' ? 130 : 143
    void (clean?.() ?? Promise.resolve()).finally(() => process.exit(code))
  }
  process.on('SIGINT', stop).on('SIGTERM', stop)
  return {
    onCleanup: (run: () => Promise<void>) => {
      clean = run
    },
    end: () => void process.off('SIGINT', stop).off('SIGTERM', stop),
  }
}

const COLOURS = { as_expected: 'green', differed: 'red', skipped: 'dim', could_not_run: 'yellow' } as const
const WORDS = {
  as_expected: 'as expected',
  differed: 'DIFFERED',
  skipped: 'skipped',
  could_not_run: 'could not run',
}

function begin({ title }: Exercise, { json }: Options): (finding: Finding) => void {
  const isLive = process.stderr.isTTY === true
  if (isLive) process.stderr.write(dim(`… ${title}`))
  return (finding) => {
    if (isLive) process.stderr.write('\r\u001b[2K')
    if (json) tell(`${finding.name}: ${WORDS[finding.status]}`)
    else printFinding(finding)
  }
}

function printFinding({ name, title, status, checks, notes, detectMs, recoverMs, tookMs }: Finding): void {
  const word = styleText(COLOURS[status], WORDS[status].padEnd(13), { stream: process.stdout })
  say(
    `${word} ${strong(title)} ${dim(`(${name}, ${(tookMs / 1000).toFixed(1)} s${detectMs === null ? '' : `, noticed after ${detectMs} ms`}${recoverMs === null ? '' : `, back after ${recoverMs} ms`})`)}`,
  )
  for (const { expected, seen, ok } of checks) if (!ok) say(`  expected: ${expected}\n  seen:     ${seen}`)
  for (const note of notes) say(dim(`  ${note}`))
}
