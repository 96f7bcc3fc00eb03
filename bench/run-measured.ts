import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'

/** What a command of Tabbat printed and used. */
export type Measured = {
  readonly stdout: string
  readonly seconds: number
  readonly cpuSeconds: number
  readonly peakMb: number
}

/** Runs in the child before Tabbat: at the end, what it used goes to file descriptor 3. */
const WATCH = `
  import { writeSync } from 'node:fs'
  import { isMainThread } from 'node:worker_threads'
  if (isMainThread) process.on('exit', () => writeSync(3, JSON.stringify(process.resourceUsage())))`

/** Runs the program itself, in a process of its own. */
export async function runMeasured(
  args: readonly string[],
  settings: Readonly<Record<string, string>>,
): Promise<Measured> {
  const watch = `data:text/javascript,${encodeURIComponent(WATCH)}`
  const startedAt = performance.now()
  const child = spawn(process.execPath, ['--import', watch, 'src/main.ts', ...args], {
    env: settings,
    stdio: ['ignore', 'pipe', 'inherit', 'pipe'],
  })
  const [stdout, used, [code]] = await Promise.all([
    text(child.stdout as NodeJS.ReadableStream),
    text(child.stdio[3] as NodeJS.ReadableStream),
    once(child, 'exit'),
  ])
  const seconds = (performance.now() - startedAt) / 1000
  if (code !== 0) throw new Error(`tabbat ${args[0]} ended with ${code}`)
  const { maxRSS, userCPUTime, systemCPUTime } = JSON.parse(used) as NodeJS.ResourceUsage
  return { stdout, seconds, cpuSeconds: (userCPUTime + systemCPUTime) / 1e6, peakMb: maxRSS / 1024 }
}
