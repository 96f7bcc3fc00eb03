import { execFile, execFileSync } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { bind, cores } from '../cores.ts'
import type { RequestSpec } from './request-spec.ts'

export type Load = {
  readonly port: number
  readonly spec: RequestSpec
  readonly connections: number
  readonly seconds: number
}
export type Loaded = {
  readonly requests: number
  readonly perSecond: number
  /** Answers that were not 2xx, and connections that broke. */
  readonly bad: number
}

const run = promisify(execFile)

export const generatorName = hasWrk() ? 'wrk' : 'autocannon'

/** As many requests as the server can answer in this time. */
export const load = (what: Load): Promise<Loaded> =>
  generatorName === 'wrk' ? runWrk(what) : runAutocannon(what)

function hasWrk(): boolean {
  try {
    execFileSync('wrk', ['--version'], { stdio: 'ignore' })
    return true
  } catch (error) {
    // It is there, but ends with 1 when it is asked for its version.
    return (error as NodeJS.ErrnoException).code !== 'ENOENT'
  }
}

async function runWrk({ port, spec, connections, seconds }: Load): Promise<Loaded> {
  const script =
    spec.method === 'POST'
      ? ['-s', join(import.meta.dirname, 'verify.lua')]
      : ['-H', `Authorization: Bearer ${spec.key}`]
  const limits = ['-t1', `-c${connections}`, `-d${seconds}s`, ...script]
  const [command, args] = bind(cores.generator, ['wrk', ...limits, `http://127.0.0.1:${port}${spec.path}`])
  const words =
    spec.method === 'POST'
      ? { FIELD: spec.field, COUNT: String(spec.count), IDEMPOTENT: spec.isIdempotent ? 'yes' : '' }
      : {}
  const SEED = String(randomInt(2 ** 31))
  const env = { PATH: process.env.PATH, KEY: spec.key, PATH_TO: spec.path, SEED, ...words }
  const { stdout } = await run(command, args, { env })
  return readWrk(stdout)
}

function readWrk(text: string): Loaded {
  const read = (sign: RegExp) => Number(sign.exec(text)?.[1] ?? 0)
  const broken = /Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)/.exec(text) ?? []
  const breaks = broken.slice(1).reduce((total, count) => total + Number(count), 0)
  return {
    requests: read(/(\d+) requests in/),
    perSecond: read(/Requests\/sec:\s+([\d.]+)/),
    bad: read(/Non-2xx or 3xx responses: (\d+)/) + breaks,
  }
}

async function runAutocannon(what: Load): Promise<Loaded> {
  const script = join(import.meta.dirname, '../peers/autocannon.mjs')
  const [command, args] = bind(cores.generator, [process.execPath, script, JSON.stringify(what)])
  const { stdout } = await run(command, args)
  return JSON.parse(stdout) as Loaded
}
