import { writeSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'

/** What the thread of the tests tells this one. */
export type WatchdogMessage =
  | { readonly file: string }
  | { readonly started: number }
  | { readonly ended: number }

export type WatchdogData = {
  readonly turns: Int32Array
  readonly maxBusyS: number
  readonly maxIdleS: number
}

const { turns, maxBusyS, maxIdleS } = workerData as WatchdogData
const children = new Set<number>()
let file = ''
let seen = -1
let since = toTimes()

parentPort?.on('message', (message: WatchdogMessage) => {
  if ('file' in message) file = message.file
  else if ('started' in message) children.add(message.started)
  else children.delete(message.ended)
})

/**
 * Processor time says that code runs in a loop, also on a busy machine. The other limit is for a call that waits for ever, and
 * uses none.
 */
setInterval(() => {
  const now = toTimes()
  const turn = Atomics.load(turns, 0)
  if (turn !== seen) {
    seen = turn
    since = now
    return
  }
  const [busyS, idleS] = [now.cpuS - since.cpuS, now.wallS - since.wallS]
  const isWaiting = idleS >= maxIdleS && busyS < 1
  if (busyS < maxBusyS && !isWaiting) return
  const what = `${file} has blocked its event loop for ${Math.round(idleS)} s (${Math.round(busyS)} s of processor time).`
  writeSync(2, `\n${what} Its process is ended.\n`)
  for (const pid of children) kill(pid)
  kill(process.pid)
}, 1000)

function toTimes() {
  const { user, system } = process.cpuUsage()
  return { cpuS: (user + system) / 1e6, wallS: performance.now() / 1000 }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended meanwhile.
  }
}
