import { execFile } from 'node:child_process'
import { UserError } from '../errors.ts'

const NAME = 'TABBAT_ROOT_KEY_COMMAND'
const TIMEOUT_MS = 10_000
/** Two keys and much white space. */
const MAX_BYTES = 4096

/** The command of the operator did not print a key. */
export class FailedKeyCommand extends UserError {
  override readonly name = 'FailedKeyCommand'
}

/**
 * Runs the command that prints the root key, without a shell and with an empty standard input. What it prints is used in no
 * message, not even its standard error: a script that traces itself prints the key there.
 */
export function runKeyCommand(
  [program = '', ...args]: readonly string[],
  timeoutMs = TIMEOUT_MS,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { timeout: timeoutMs, maxBuffer: MAX_BYTES, killSignal: 'SIGKILL' } as const
    const child = execFile(program, args, options, (error, output) => {
      if (!error) return resolve(output)
      reject(new FailedKeyCommand(`${NAME} ${toReason(error, timeoutMs)}. ${toAdvice(error)}`))
    })
    // A program that does not read its input closes it early.
    child.stdin?.on('error', () => {}).end()
  })
}

type Failure = Error & { readonly code?: unknown; readonly killed?: boolean; readonly signal?: unknown }

function toReason({ code, killed, signal }: Failure, timeoutMs: number): string {
  if (code === 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER') return `printed more than ${MAX_BYTES} bytes`
  if (killed) return `did not finish within ${timeoutMs / 1000} seconds`
  if (typeof code === 'number') return `exited with code ${code}`
  if (typeof code === 'string') return `could not be started (${code})`
  return `was ended by the signal ${signal}`
}

const toAdvice = ({ code }: Failure) =>
  code === 'ENOENT' || code === 'EACCES'
    ? 'Its first word must be an executable program: no shell runs it.'
    : 'Run it in a terminal as the user of this server to see what it prints.'
