import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../../src/context/config.ts'
import type { Context } from '../../src/context/context.ts'
import type { ApiServer } from '../../src/server/api-server.ts'
import { ProcessDied } from './disk.ts'
import { noteUncaught, product } from './product.ts'
import { openTracing } from './spans.ts'
import { processOf, type SimulatedProcess, world } from './world.ts'

/** A server process. */
export type Server = {
  readonly process: SimulatedProcess
  readonly context: Context
  readonly app: ApiServer
  /** Requests that wait for an answer. */
  readonly asked: Set<object>
}

export type Reply = {
  readonly status: number
  readonly body: string
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** When the answer had arrived. */
  readonly at: number
  readonly askedAt?: number
}

export type Request = {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | undefined
}

/** The servers of one run: each has a place, in which one process at a time lives. */
export type Cluster = {
  readonly servers: () => readonly Server[]
  readonly start: (place: number) => Promise<void>
  /** The process dies at once. */
  readonly kill: (place: number) => void
  readonly processAt: (place: number) => SimulatedProcess | undefined
  /** Ends a server properly. */
  readonly end: (place: number) => Promise<void>
  readonly stop: () => Promise<void>
  /** Of every server that runs, in the text format of Prometheus. */
  readonly readMetrics: () => Promise<string[]>
  /** What spans of traces said, each text once. */
  readonly spans: ReadonlySet<string>
  readonly logFiles: readonly string[]
}

export type Settings = Readonly<Record<string, string>>

export function openCluster(toSettings: (place: number) => Settings, logDir: string): Cluster {
  const servers = new Map<number, Server>()
  const ending = new Set<number>()
  const starting = new Map<number, SimulatedProcess>()
  const logFiles: string[] = []
  const spans = new Set<string>()
  mkdirSync(logDir, { recursive: true })

  const start = async (place: number): Promise<void> => {
    if (servers.has(place) || starting.has(place) || ending.has(place)) return
    const process = world().createProcess(`node${place}`)
    starting.set(place, process)
    const logFile = join(logDir, `${process.pid}.log`)
    logFiles.push(logFile)
    const opening = processOf.run(process, () =>
      open(product().loadConfig(toSettings(place), ''), logFile, place, spans),
    )
    try {
      const opened = await Promise.race([opening, process.died.then(() => undefined)])
      if (!opened || !process.isAlive) return
      servers.set(place, { process, ...opened, asked: new Set() })
      process.onDeath.push(() => servers.delete(place))
      world().note(`node${place} is up`)
    } catch (error) {
      if (!(error instanceof ProcessDied))
        world().note(`node${place} did not start: ${(error as Error).name}`)
      world().kill(process)
    } finally {
      starting.delete(place)
    }
  }
  const end = async (place: number): Promise<void> => {
    const server = servers.get(place)
    if (!server) return
    servers.delete(place)
    ending.add(place)
    world().note(`node${place} is stopped`)
    const { process, app, context } = server
    const closing = processOf.run(process, async () => {
      while (server.asked.size > 0) await world().pause(DRAIN_MS)
      await app.close()
      await context.close()
    })
    await Promise.race([closing.catch(noteUncaught), process.died])
    world().kill(process)
    ending.delete(place)
  }
  return {
    servers: () => [...servers.values()],
    start,
    kill: (place) => {
      const process = servers.get(place)?.process ?? starting.get(place)
      if (!process) return
      world().note(`node${place} is killed`)
      world().kill(process)
    },
    processAt: (place) => servers.get(place)?.process,
    end,
    stop: async () => {
      for (const place of [...servers.keys()]) await end(place)
    },
    readMetrics: async () => {
      const texts: string[] = []
      for (const { process, context } of servers.values()) {
        const printed = processOf.run(process, () => context.metrics.print())
        const text = await Promise.race([printed, process.died])
        if (text !== undefined) texts.push(text)
      }
      return texts
    },
    spans,
    logFiles,
  }
}

/** A server that ends answers first what it was asked. */
const DRAIN_MS = 20

async function open(config: Config, logFile: string, place: number, spans: Set<string>) {
  const { createContext, createApiServer, createLog } = product()
  const context = await createContext(config, createLog('info', logFile), place)
  return { context, app: createApiServer({ ...context, tracing: openTracing(spans) }) }
}

/** Undefined: the connection broke, and nothing is known. */
export async function ask(server: Server, request: Request): Promise<Reply | undefined> {
  const { process, app, asked } = server
  if (!process.isAlive) return undefined
  asked.add(request)
  const answered = processOf.run(process, () => product().requestLocally(app, request))
  const reply = await Promise.race([answered.catch(() => undefined), process.died.then(() => undefined)])
  asked.delete(request)
  if (!reply || !process.isAlive) return undefined
  return { status: reply.status, body: reply.body.toString(), headers: reply.headers, at: world().elapsedMs }
}
