import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'

export type Settings = Record<string, string>

export type Finished = { readonly code: number | null; readonly stdout: string; readonly stderr: string }

export const newDataDir = () => mkdtempSync(join(tmpdir(), 'tabbat-process-'))

const environment = (settings: Settings) => ({
  PATH: process.env.PATH ?? '',
  HOME: tmpdir(),
  TABBAT_SHUTDOWN_DELAY: 'off',
  ...settings,
})

/** An installed program, and the folder in which it runs. */
export type Program = { readonly file: string; readonly cwd?: string }

/** The program of the checkout. In a run of the tests it is its bundle, which starts sooner (see test/program.ts). */
export const TABBAT = { file: 'bin/tabbat' }

/** Runs a command to its end. */
export const tabbat = (settings: Settings, ...args: string[]): Promise<Finished> =>
  runProgram(TABBAT, settings, ...args)

export async function runProgram(
  { file, cwd }: Program,
  settings: Settings,
  ...args: string[]
): Promise<Finished> {
  const child = spawn(file, args, { cwd, env: environment(settings), stdio: ['ignore', 'pipe', 'pipe'] })
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ])
  return { code: code as number | null, stdout, stderr }
}

export type RunningServer = {
  readonly child: ChildProcess
  readonly url: string
  readonly banner: string
  /** Sends SIGTERM and returns the exit code. */
  readonly stop: () => Promise<number | null>
}

/** Starts a server on free ports and waits for its banner. */
export async function startServer(
  settings: Settings = {},
  { file, cwd }: Program = TABBAT,
): Promise<RunningServer> {
  const ports = { TABBAT_PORT: '0', TABBAT_ADMIN_PORT: '0', TABBAT_DATA_DIR: newDataDir() }
  const child = spawn(file, ['serve'], {
    cwd,
    env: environment({ ...ports, ...settings }),
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  // A test that fails must not leave a server behind.
  const kill = () => void child.kill('SIGKILL')
  process.once('exit', kill)
  child.once('exit', () => process.off('exit', kill))
  let banner = ''
  for await (const piece of child.stdout) {
    banner += piece
    if (banner.includes('warning:') || banner.includes('reference')) break
  }
  const url = /listening on +(\S+)/.exec(banner)?.[1]
  if (!url) throw new Error(`the server did not start: ${banner}`)
  const closed = once(child, 'close')
  return {
    child,
    url,
    banner,
    stop: async () => {
      child.kill('SIGTERM')
      return (await closed)[0] as number | null
    },
  }
}

/** The child processes of a process. */
export async function childrenOf(pid: number | undefined): Promise<number[]> {
  const list = execFileSync('ps', ['-A', '-o', 'pid=,ppid=']).toString().trim().split('\n')
  return list
    .map((line) => line.trim().split(/\s+/).map(Number))
    .flatMap(([child = 0, parent]) => (parent === pid ? [child] : []))
}
