import { ChildProcess } from 'node:child_process'
import { relative } from 'node:path'
import { Worker } from 'node:worker_threads'
import { afterAll, beforeAll, expect, inject } from 'vitest'
import type { WatchdogData, WatchdogMessage } from './watchdog-thread.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** Another limit, for the test of the watchdog. */
    readonly maxBusyS?: number
  }
}

type Watchdog = {
  /** Processes that tests of this process have started, and that have not ended. */
  readonly children: Set<ChildProcess>
  readonly tell: (message: WatchdogMessage) => void
}

/** No test computes for so long without a turn of the event loop. */
const MAX_BUSY_S = 20
/** No test waits for so long in a call that blocks, such as a build. */
const MAX_IDLE_S = 300
const TURN_MS = 500

// Vitest loads this file before each test file, and a process runs many of them: the watchdog is started once.
const KEY = Symbol.for('tabbat.watchdog')
const shared = globalThis as { [KEY]?: Watchdog }
shared[KEY] ??= startWatchdog()
const { children, tell } = shared[KEY]

/**
 * A test that fails must not keep the run from ending. It may leave a process behind, which holds the pipes of this one: it is
 * killed when its file has ended. And it may leave a loop that never yields, so that no time limit of Vitest can take effect:
 * a thread ends the process then, with the processes that it has started.
 */
beforeAll(() => tell({ file: relative('.', expect.getState().testPath ?? '') }))

afterAll(() => {
  for (const child of children) {
    process.stderr.write(`${child.spawnfile} (${child.pid}) was left running. It is killed.\n`)
    child.kill('SIGKILL')
  }
})

function startWatchdog(): Watchdog {
  const turns = new Int32Array(new SharedArrayBuffer(4))
  const workerData: WatchdogData = {
    turns,
    maxBusyS: inject('maxBusyS') ?? MAX_BUSY_S,
    maxIdleS: MAX_IDLE_S,
  }
  const thread = new Worker(new URL('./watchdog-thread.ts', import.meta.url), { workerData })
  thread.unref()
  setInterval(() => Atomics.add(turns, 0, 1), TURN_MS).unref()
  const started = new Set<ChildProcess>()
  const post = (message: WatchdogMessage) => thread.postMessage(message)
  watchChildren(started, post)
  return { children: started, tell: post }
}

/** Every process that is started and not waited for. Detached ones are meant to outlive their parent. */
function watchChildren(started: Set<ChildProcess>, post: Watchdog['tell']): void {
  type Spawn = (this: ChildProcess, options: { readonly detached?: boolean }) => unknown
  const prototype = ChildProcess.prototype as unknown as { spawn: Spawn }
  const { spawn } = prototype
  prototype.spawn = function (options) {
    const result = spawn.call(this, options)
    const { pid } = this
    if (pid === undefined || options.detached) return result
    started.add(this)
    post({ started: pid })
    this.once('exit', () => {
      started.delete(this)
      post({ ended: pid })
    })
    return result
  }
}
