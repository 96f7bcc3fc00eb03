import { type ChildProcess, type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { isSea } from 'node:sea'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { UserError } from '../errors.ts'

/** A server ended before it listened, or did not listen in time. The message has its reason. */
export class NotStarted extends UserError {
  override readonly name = 'NotStarted'
}

/** The sentence of a command that failed. */
export const readReason = (stderr: string) => /error: (.*)/.exec(stderr)?.[1] ?? 'it gave no reason'

/** All of the environment of a process that the rehearsal starts. */
export type Settings = Readonly<Record<string, string>>

type Finished = { readonly code: number | null; readonly stdout: string; readonly stderr: string }

/** A line of the log of a server. */
type LogLine = Readonly<Record<string, unknown>> & { readonly event?: unknown }

export type Server = {
  readonly url: string
  readonly log: readonly LogLine[]
  /** Resolves with the first line that fits, after the first `seen` lines; undefined after the time. */
  readonly waitForLog: (
    fits: (line: LogLine) => boolean,
    withinMs: number,
    seen: number,
  ) => Promise<LogLine | undefined>
  /** The exit code; null after a signal. */
  readonly ended: Promise<number | null>
  readonly isRunning: () => boolean
  /** kill -9, of the workers too. */
  readonly kill: () => Promise<void>
  /** SIGTERM; the exit code. */
  readonly stop: () => Promise<number | null>
}

/** This program, started again as children with other settings. */
export type Program = {
  readonly run: (settings: Settings, ...args: readonly string[]) => Promise<Finished>
  /** `maxFileBytes`: writes beyond this size of a file fail, as on a disk that fails. */
  readonly startServer: (settings: Settings, options?: { readonly maxFileBytes?: number }) => Promise<Server>
  /** Kills what runs, now. */
  readonly killAll: () => void
  /** Kills what runs, and waits for its end. */
  readonly close: () => Promise<void>
}

const MAX_LOG_LINES = 100_000
const START_MS = 60_000
const STOP_MS = 30_000
/** Of `ulimit -f` in the shell of POSIX. */
const BLOCK_BYTES = 512

/** `cwd`: a folder without a .env, so that the settings are all there is. */
export function createProgram(cwd: string): Program {
  const running = new Set<ChildProcess>()
  let isClosed = false
  const start = (settings: Settings, args: readonly string[], maxFileBytes?: number) => {
    if (isClosed) throw new UserError('The rehearsal was interrupted.')
    const [file = '', ...given] = toCommand(args, maxFileBytes)
    // A group of its own: a signal reaches its workers too, and Ctrl-C does not reach it before us.
    const child = spawn(file, given, {
      cwd,
      env: settings,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
    }) as ChildProcessByStdio<null, Readable, Readable>
    child.once('exit', () => child.stdio[LIFELINE]?.destroy())
    running.add(child)
    child.once('close', () => running.delete(child))
    return child
  }
  return {
    run: async (settings, ...args) => {
      const child = start(settings, args)
      const [stdout, stderr, [code]] = await Promise.all([
        text(child.stdout),
        text(child.stderr),
        once(child, 'close'),
      ])
      return { code: code as number | null, stdout, stderr }
    },
    startServer: (settings, { maxFileBytes } = {}) => openServer(start(settings, ['serve'], maxFileBytes)),
    killAll: () => {
      for (const child of running) signalGroup(child)
    },
    close: async () => {
      isClosed = true
      await Promise.all([...running].map(killGroup))
    },
  }
}

/** This program, as this process was started: from a checkout, from a package, or as the single executable. */
export const toOwnCommand = (): string[] =>
  isSea() ? [process.execPath] : [process.execPath, ...process.execArgv, process.argv[1] ?? '']

/** A pipe that the system closes when this process ends, however it ends. */
const LIFELINE = 3
/** Kills the whole group when the pipe is closed. */
const GUARD = `(read -r _ <&${LIFELINE}; kill -9 0) > /dev/null 2>&1 &`

const toCommand = (args: readonly string[], maxFileBytes: number | undefined): string[] => [
  '/bin/sh',
  '-c',
  [
    GUARD,
    maxFileBytes === undefined ? '' : `ulimit -f ${Math.ceil(maxFileBytes / BLOCK_BYTES)} &&`,
    `exec "$0" "$@" ${LIFELINE}<&-`,
  ].join(' '),
  ...toOwnCommand(),
  ...args,
]

async function killGroup(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const closed = once(child, 'exit')
  if (signalGroup(child)) await closed
}

/** False if it has just ended. */
function signalGroup({ pid }: ChildProcess): boolean {
  try {
    return pid !== undefined && process.kill(-pid, 'SIGKILL')
  } catch {
    return false
  }
}

async function openServer(child: ReturnType<typeof spawn>): Promise<Server> {
  const ended = once(child, 'exit').then(([code]) => code as number | null)
  const { log, waitForLog } = readLog(child)
  const url = await readUrl(child, ended).catch(async (error) => {
    await killGroup(child)
    throw error
  })
  const isRunning = () => child.exitCode === null && child.signalCode === null
  return {
    url,
    log,
    waitForLog,
    ended,
    isRunning,
    kill: () => killGroup(child),
    stop: async () => {
      if (!isRunning()) return child.exitCode
      child.kill('SIGTERM')
      const late = setTimeout(() => void killGroup(child), STOP_MS)
      return ended.finally(() => clearTimeout(late))
    },
  }
}

type Waiting = { readonly fits: (line: LogLine) => boolean; readonly resolve: (line: LogLine) => void }

function readLog({ stderr }: ChildProcess): Pick<Server, 'log' | 'waitForLog'> {
  const log: LogLine[] = []
  const waiting = new Set<Waiting>()
  if (stderr)
    createInterface({ input: stderr }).on('line', (text) => {
      const line = parseLine(text)
      if (log.length < MAX_LOG_LINES) log.push(line)
      for (const each of waiting) if (each.fits(line)) each.resolve(line)
    })
  const waitForLog = (fits: Waiting['fits'], withinMs: number, seen: number) => {
    const before = log.slice(seen).find(fits)
    if (before) return Promise.resolve(before)
    return new Promise<LogLine | undefined>((resolve) => {
      const end = (line?: LogLine) => {
        clearTimeout(timer)
        waiting.delete(entry)
        resolve(line)
      }
      const entry = { fits, resolve: end }
      const timer = setTimeout(end, withinMs)
      waiting.add(entry)
    })
  }
  return { log, waitForLog }
}

function parseLine(text: string): LogLine {
  try {
    return JSON.parse(text) as LogLine
  } catch {
    // A sentence of a program that could not start.
    return { sentence: text }
  }
}

/** From the banner. */
async function readUrl(child: ChildProcess, ended: Promise<unknown>): Promise<string> {
  const { stdout, stderr } = child
  let banner = ''
  let problems = ''
  stderr?.on('data', (piece) => {
    problems = `${problems}${piece}`.slice(-4000)
  })
  const { promise, resolve } = Promise.withResolvers<string | undefined>()
  stdout?.on('data', (piece) => {
    if (banner.length < 10_000) banner += piece
    const url = /listening on +(\S+)/.exec(banner)?.[1]
    if (url !== undefined) resolve(url)
  })
  const timer = setTimeout(resolve, START_MS, undefined)
  const url = await Promise.race([promise, ended.then(() => undefined)]).finally(() => clearTimeout(timer))
  if (url !== undefined) return url
  throw new NotStarted(`A server on the copy did not start: ${readReason(problems)}`)
}
