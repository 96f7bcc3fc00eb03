import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { get } from 'node:http'
import { type AddressInfo, connect, createServer } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { bind, cores } from '../cores.ts'

/** A server under measurement, a process of its own. */
export type Server = {
  readonly name: string
  readonly port: number
  readonly pid: number
  /** From the start of the process until it was ready. */
  readonly startMs: number
  readonly stop: () => Promise<void>
}

type Launch = {
  readonly name: string
  readonly port: number
  readonly command: readonly string[]
  /** It is up when this path answers, with 200 if it is the path of readiness; `tcp`: when it takes connections. */
  readonly readyPath: string
  readonly cwd: string
  readonly env?: Readonly<Record<string, string>>
  readonly core?: string | undefined
}

const START_MS = 60_000
const running = new Set<ChildProcess>()
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

/** The log goes to /dev/null: the system call is made, the disk is left out. */
export async function launch(plan: Launch): Promise<Server> {
  const [command, args] = bind('core' in plan ? plan.core : cores.server, plan.command)
  const startedAt = performance.now()
  const child = spawn(command, args, {
    cwd: plan.cwd,
    env: { PATH: process.env.PATH, HOME: plan.cwd, NODE_ENV: 'production', ...plan.env },
    stdio: 'ignore',
  })
  running.add(child)
  child.on('exit', () => running.delete(child))
  const died = once(child, 'exit')
  const startMs = (await waitUntilReady(plan, child)) - startedAt
  const stop = async () => {
    child.kill('SIGTERM')
    const patience = setTimeout(() => child.kill('SIGKILL'), 10_000)
    await died
    clearTimeout(patience)
  }
  return { name: plan.name, port: plan.port, pid: child.pid ?? 0, startMs, stop }
}

async function waitUntilReady(
  { name, port, readyPath, command }: Launch,
  child: ChildProcess,
): Promise<number> {
  const until = performance.now() + START_MS
  while (performance.now() < until && child.exitCode === null && child.signalCode === null) {
    if (await answers(port, readyPath)) return performance.now()
    await wait(2)
  }
  throw new Error(`${name} did not start: ${command.join(' ')}`)
}

function answers(port: number, path: string): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  if (path === 'tcp') {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy()
      resolve(true)
    }).on('error', () => resolve(false))
    return promise
  }
  const request = get({ host: '127.0.0.1', port, path, agent: false }, (response) => {
    response.resume()
    resolve(path !== '/health/ready' || response.statusCode === 200)
  })
  request.on('error', () => resolve(false))
  return promise
}

export async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
