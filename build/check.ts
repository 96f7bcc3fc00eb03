import { spawn } from 'node:child_process'
import { dirname } from 'node:path'

const ROOT = dirname(import.meta.dirname)

/**
 * Format, lint, types and OpenAPI, at the same time. One checker each for the compiler: four of them, its default, compute shared types
 * several times and take half as much processor time again.
 */
const COMMANDS = [
  'tsc --checkers 1',
  'biome check --error-on-warnings .',
  'tsc --checkers 1 -p console',
  'tsc --checkers 1 -p packages/client',
  'redocly lint openapi.json docs/admin-openapi.json',
]

/** What it printed, all in one piece, and whether it succeeded. */
async function run(command: string): Promise<boolean> {
  const [program = '', ...args] = command.split(' ')
  const child = spawn(program, args, { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'] })
  const pieces: Buffer[] = []
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (piece: Buffer) => pieces.push(piece))
  const { promise, resolve } = Promise.withResolvers<string | undefined>()
  child.on('error', ({ message }) => resolve(message))
  child.on('close', (code, signal) => resolve(code === 0 ? undefined : `ended with ${code ?? signal}`))
  const failure = await promise
  process.stdout.write(Buffer.concat(pieces))
  process.stdout.write(`${command}: ${failure ?? 'passed'}\n`)
  return failure === undefined
}

const results = await Promise.all(COMMANDS.map(run))
process.exitCode = results.every(Boolean) ? 0 : 1
