import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import type { ChildTask } from './child.ts'

const CHILD = fileURLToPath(new URL('./child.ts', import.meta.url))
const NODE_COMPILE_CACHE = fileURLToPath(new URL('../../node_modules/.cache/tabbat', import.meta.url))

/** Runs a task in another process, and reads the lines that it prints. */
export function startChild(task: ChildTask) {
  const child = spawn(process.execPath, [CHILD, JSON.stringify(task)], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, NODE_COMPILE_CACHE },
  }) as ChildProcessByStdio<Writable, Readable, null>
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  const closed = once(child, 'close')
  return { child, closed, read: async () => JSON.parse((await lines.next()).value ?? 'null') as unknown }
}
