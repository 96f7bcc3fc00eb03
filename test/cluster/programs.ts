import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'

/** Where a program is, also in the folders of system programs, which are not in every PATH. */
export function findProgram(name: string): string | undefined {
  try {
    const env = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin:/sbin` }
    return execFileSync('sh', ['-c', `command -v ${name}`], { env, encoding: 'utf8' }).trim()
  } catch {
    return undefined
  }
}

/** Why tests with these programs cannot run; undefined when they can. */
export function whyMissing(...names: string[]): string | undefined {
  const missing = names.filter((name) => findProgram(name) === undefined)
  return missing.length === 0 ? undefined : `not installed: ${missing.join(', ')}`
}

export type RunningProgram = {
  readonly child: ChildProcess
  /** What it has printed on both streams. */
  readonly output: () => string
  readonly stop: (signal?: NodeJS.Signals) => Promise<void>
}

type RunOptions = {
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
  readonly uid?: number | undefined
  readonly gid?: number | undefined
}

/** Starts a program that is ended with this process. */
export function runInBackground(
  name: string,
  args: readonly string[],
  options: RunOptions = {},
): RunningProgram {
  const { env = {}, ...rest } = options
  const child = spawn(findProgram(name) ?? name, args, {
    ...rest,
    env: { PATH: process.env.PATH ?? '', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (piece: Buffer) => {
      output = (output + piece.toString()).slice(-100_000)
    })
  const kill = () => void child.kill('SIGKILL')
  process.once('exit', kill)
  const ended = once(child, 'exit').finally(() => process.off('exit', kill))
  return {
    child,
    output: () => output,
    stop: async (signal = 'SIGTERM') => {
      child.kill(signal)
      await ended
    },
  }
}

/** Repeats a check until it holds. */
export async function waitUntil(
  what: string,
  check: () => Promise<boolean>,
  mostMs = 120_000,
): Promise<void> {
  const until = performance.now() + mostMs
  while (!(await check().catch(() => false))) {
    if (performance.now() > until) throw new Error(`${what}: not within ${mostMs} ms`)
    await new Promise((done) => setTimeout(done, 50))
  }
}
