import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../checkout.ts'
import { sendOnce } from '../load/request-spec.ts'
import { findFreePort, launch, type Server } from './server.ts'
import { LOOKUPS } from './tabbat.ts'

const PEERS = join(ROOT, 'bench/peers')
const OPENAPI = join(ROOT, 'openapi.json')
const PRISM = join(PEERS, 'node_modules/@stoplight/prism-cli/dist/index.js')
const MOCKOON = join(PEERS, 'node_modules/@mockoon/cli/bin/run.js')

/** Installs the peers from the npm registry, once. False when that fails. */
export function installPeers(progress: (line: string) => void): boolean {
  if (existsSync(join(PEERS, 'node_modules/.package-lock.json'))) return true
  progress('installing the peers: npm ci --prefix bench/peers (180 MB, once)')
  try {
    execFileSync('npm', ['ci', '--prefix', PEERS, '--ignore-scripts'], {
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    return true
  } catch {
    return false
  }
}

/** Answers the examples of openapi.json, as it does by default. */
export async function startPrism(folder: string): Promise<Server> {
  const port = await findFreePort()
  // In production it wants to be two processes, one for the log, and in this version that fails.
  const flags = ['-p', String(port), '-v', 'silent', '--multiprocess=false']
  const command = [process.execPath, PRISM, 'mock', OPENAPI, ...flags]
  return await launch({ name: 'Prism', port, command, readyPath: '/', cwd: folder })
}

/** Its log to standard output cannot be turned off; it is discarded. */
export async function startMockoon(folder: string): Promise<Server> {
  const environment = join(folder, 'mockoon.json')
  execFileSync(process.execPath, [MOCKOON, 'import', '-i', OPENAPI, '-o', environment], { stdio: 'ignore' })
  useExamples(environment)
  const port = await findFreePort()
  const flags = ['--port', String(port), '--disable-log-to-file', '--disable-admin-api']
  const command = [process.execPath, MOCKOON, 'start', '--data', environment, ...flags]
  return await launch({ name: 'Mockoon', port, command, readyPath: '/', cwd: folder })
}

type Environment = {
  routes: { endpoint: string; responses: { body: string; disableTemplating: boolean }[] }[]
}
type Document = {
  paths: Record<
    string,
    { get?: { responses: Record<string, { content: Record<string, { example: unknown }> }> } }
  >
}

/**
 * Its import makes templates from the schemas and leaves the examples out. They are put in, without templating: the same
 * bytes as the others, and less work for Mockoon than it would have had.
 */
function useExamples(file: string): void {
  const { paths } = JSON.parse(readFileSync(OPENAPI, 'utf8')) as Document
  const environment = JSON.parse(readFileSync(file, 'utf8')) as Environment
  for (const { endpoint, responses } of environment.routes) {
    const path = `/${endpoint.replace(/:(\w+)/g, '{$1}')}`
    const example = paths[path]?.get?.responses['200']?.content['application/json']?.example
    if (example === undefined || responses[0] === undefined) continue
    responses[0].body = JSON.stringify(example)
    responses[0].disableTemplating = true
  }
  writeFileSync(file, JSON.stringify(environment))
}

/** Whether a peer answers a look-up with what Tabbat answers; otherwise it would be compared with something else. */
export async function hasSameAnswer({ port }: Server, body: string): Promise<boolean> {
  const response = await sendOnce(port, LOOKUPS['list-internet-bundles'])
  return response.status === 200 && (await response.text()) === body
}

type Tuning = 'as it comes' | 'wal'

export async function startExpress(
  folder: string,
  people: string,
  count: number,
  key: string,
  tuning: Tuning,
): Promise<Server> {
  const port = await findFreePort()
  const database = join(folder, `express-${tuning === 'wal' ? 'wal' : 'default'}.db`)
  const script = join(PEERS, 'express-verify.mjs')
  const command = [process.execPath, script, String(port), database, people, String(count), tuning]
  const name = tuning === 'wal' ? 'Express + SQLite, WAL, not durable' : 'Express + SQLite'
  return await launch({ name, port, command, readyPath: '/', cwd: folder, env: { API_KEY: key } })
}
