import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { SeedRequest, SeedResult } from './child.ts'
import type { Engine } from './template.ts'

/** A process keeps less than 1 MB of a run, and takes two seconds to start. */
const RUNS_OF_CHILD = 100

export type PoolOptions = {
  readonly jobs: number
  readonly defect?: string | undefined
  /** Sqlite, unless it is given. */
  readonly toEngine?: (seed: number) => Engine
  readonly postgresUrl?: string | undefined
  readonly withTrace?: boolean
  /** False ends the pool. */
  readonly onResult: (result: SeedResult) => boolean | undefined
}

/** Runs seeds in processes of their own, some at the same time. */
export async function runSeeds(seeds: Iterable<number>, options: PoolOptions): Promise<void> {
  const { jobs, defect = '', postgresUrl = '', withTrace = false, onResult } = options
  const { toEngine = () => 'sqlite' } = options
  const queue = seeds[Symbol.iterator]()
  let isOver = false
  const work = async (): Promise<void> => {
    let child: ChildProcess | undefined
    let runs = 0
    for (let next = queue.next(); !next.done && !isOver; next = queue.next()) {
      if (!child || runs++ >= RUNS_OF_CHILD) {
        await endChild(child)
        child = await startChild(defect, postgresUrl)
        runs = 1
      }
      const result = await askChild(child, { seed: next.value, engine: toEngine(next.value), withTrace })
      if (onResult(result) === false) isOver = true
    }
    await endChild(child)
  }
  await Promise.all(Array.from({ length: jobs }, work))
}

async function startChild(...args: string[]): Promise<ChildProcess> {
  const child = fork(join(import.meta.dirname, 'child.ts'), args, {
    execArgv: ['--disable-warning=ExperimentalWarning'],
  })
  await nextMessage(child, 'the start')
  return child
}

/** Its folder is deleted when it ends. */
async function endChild(child: ChildProcess | undefined): Promise<void> {
  if (!child) return
  const ended = once(child, 'exit')
  child.disconnect()
  await ended
}

function askChild(child: ChildProcess, request: SeedRequest): Promise<SeedResult> {
  child.send(request)
  return nextMessage(child, `seed ${request.seed}`) as Promise<SeedResult>
}

function nextMessage(child: ChildProcess, what: string): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const fail = (code: number | null, signal: string | null) =>
      reject(new Error(`a process of the simulation ended with ${code ?? signal} at ${what}`))
    child.once('exit', fail)
    child.once('message', (message) => {
      child.off('exit', fail)
      resolve(message)
    })
  })
}
