import { type ChildProcess, execFileSync, fork } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import type { ProvidedContext } from 'vitest'
import { dropTestDatabases } from '../postgres.ts'
import type { RunReply, RunRequest } from './test-process.ts'

/** What the tests said of the files as they are. `ended`: the process of the tests ended before it answered. */
export type Outcome = RunReply | { readonly ended: true } | { readonly timedOut: true }

/** A copy of the repository, and a process that runs tests in it. */
export type Lane = {
  readonly root: string
  /** Changes a file of the copy. */
  readonly write: (file: string, text: string) => void
  readonly run: (request: RunRequest, timeoutMs: number) => Promise<Outcome>
  readonly close: () => void
}

/** Left out of the copy: large, and read by no test of the rooms. */
const LEFT_OUT = /^(?:bench|docs\/console|\.github)\//

export function openLane(repository: string, parent: string, postgres: ProvidedContext['postgres']): Lane {
  const place = mkdtempSync(join(parent, 'tabbat-mutation-'))
  const root = join(place, 'copy')
  const temporary = join(place, 'tmp')
  copyRepository(repository, root)
  // PostgreSQL servers of single tests run under another account.
  chmodSync(place, 0o755)
  let child: ChildProcess | undefined
  /** Since the last run. */
  const touched = new Set<string>()
  const write = (file: string, text: string) => {
    writeFileSync(join(root, file), text)
    touched.add(file)
  }
  const start = () => {
    rmSync(temporary, { recursive: true, force: true })
    mkdirSync(temporary, { mode: 0o755 })
    const env = { ...process.env, TMPDIR: temporary, TABBAT_MUTATION_POSTGRES: JSON.stringify(postgres) }
    return fork(join(import.meta.dirname, 'test-process.ts'), [root], {
      cwd: root,
      env,
      detached: true,
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    })
  }
  const stop = () => {
    if (child?.pid !== undefined && child.exitCode === null) killGroup(child.pid)
    child = undefined
  }
  process.on('exit', stop)
  return {
    root,
    write,
    run: async (request, timeoutMs) => {
      child ??= start()
      const outcome = await ask(child, { ...request, changed: [...touched] }, timeoutMs)
      touched.clear()
      if (!('failed' in outcome)) stop()
      await dropTestDatabases(postgres)
      return outcome
    },
    close: () => {
      stop()
      process.off('exit', stop)
      rmSync(place, { recursive: true, force: true })
    },
  }
}

async function ask(child: ChildProcess, request: RunRequest, timeoutMs: number): Promise<Outcome> {
  const late = new AbortController()
  const timer = setTimeout(() => late.abort(), timeoutMs)
  try {
    child.send(request)
    const answered = once(child, 'message', { signal: late.signal })
    const ended = once(child, 'exit', { signal: late.signal }).then(() => [{ ended: true }])
    const [outcome] = await Promise.race([answered, ended])
    ended.catch(() => {})
    return outcome as Outcome
  } catch (error) {
    if (late.signal.aborted) return { timedOut: true }
    throw error
  } finally {
    clearTimeout(timer)
    late.abort()
  }
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // It has ended by itself.
  }
}

/** What git knows and what is new, without what it ignores; the packages are shared. */
function copyRepository(repository: string, root: string): void {
  const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: repository,
    encoding: 'utf8',
    maxBuffer: 2 ** 26,
  })
  for (const file of new Set(listed.split('\0'))) {
    if (file === '' || LEFT_OUT.test(file) || !existsSync(join(repository, file))) continue
    mkdirSync(dirname(join(root, file)), { recursive: true })
    cpSync(join(repository, file), join(root, file))
  }
  symlinkSync(join(repository, 'node_modules'), join(root, 'node_modules'))
}
