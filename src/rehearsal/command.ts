import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { UserError } from '../errors.ts'
import { toTime } from './finding.ts'

const COMMAND_MS = 120_000
/** After SIGTERM, before SIGKILL. */
const GRACE_MS = 5000
const TAIL_CHARACTERS = 4000
const TAIL_MS = 500

type CommandOptions = {
  readonly withinMs?: number
  /** Gets the last line of what a failed command said. It may hold a password, so it is not for the report. */
  readonly tell?: (line: string) => void
}

/** Runs a command of the operator in the shell. It and all it starts get SIGTERM if it takes too long, or if the rehearsal ends. */
export async function runCommand(
  command: string,
  { withinMs = COMMAND_MS, tell = tellTerminal }: CommandOptions = {},
): Promise<void> {
  // Its output is discarded. A pipe that is not read fills up, and the command would wait for ever.
  const child = spawn('/bin/sh', ['-c', command], { detached: true, stdio: ['ignore', 'ignore', 'pipe'] })
  const readTail = keepTail(child)
  const end = () => signalGroup(child, 'SIGTERM')
  process.once('exit', end)
  let isLate = false
  const late = setTimeout(() => {
    isLate = true
    end()
  }, withinMs)
  const tooLate = setTimeout(() => signalGroup(child, 'SIGKILL'), withinMs + GRACE_MS)
  const [code, signal] = await once(child, 'exit').finally(() => {
    for (const timer of [late, tooLate]) clearTimeout(timer)
    process.off('exit', end)
  })
  if (code === 0 && !isLate) return
  const failed = code === null ? `was ended by ${signal}` : `failed with exit code ${code}`
  const how = isLate ? `did not end within ${toTime(withinMs)}` : failed
  // Its last words may come after its end, and something that it has started may keep the pipe open.
  if (!child.stderr.readableEnded) await Promise.race([once(child.stderr, 'end'), pause(TAIL_MS)])
  const line = readTail()
  if (line !== '') tell(line)
  throw new UserError(`The command of --failover-command ${how}.`)
}

/** On a terminal, a line about the progress is not yet ended. */
const tellTerminal = (line: string) =>
  void process.stderr.write(
    `${process.stderr.isTTY ? '\n' : ''}The command of --failover-command said: ${line}\n`,
  )

/** The last line of what it says on standard error. */
function keepTail({ stderr }: ChildProcess): () => string {
  let tail = ''
  stderr?.setEncoding('utf8').on('data', (piece: string) => {
    tail = `${tail}${piece}`.slice(-TAIL_CHARACTERS)
  })
  return () => tail.trimEnd().split('\n').at(-1)?.trim() ?? ''
}

function signalGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(-pid, signal)
  } catch {
    // It has just ended.
  }
}
