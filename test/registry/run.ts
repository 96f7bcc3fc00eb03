import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { type Finished, type Settings, TABBAT } from '../process/tabbat.ts'

/** Runs a script of this folder with this standard input. */
export const run = (settings: Settings, command: readonly string[], input?: string) =>
  runWith(process.execPath, { NODE_COMPILE_CACHE, ...settings }, command, input)

export const tabbat = (settings: Settings, args: readonly string[], input?: string) =>
  runWith(TABBAT.file, settings, args, input)

const NODE_COMPILE_CACHE = resolve('node_modules/.cache/tabbat')

async function runWith(
  file: string,
  settings: Settings,
  args: readonly string[],
  input = '',
): Promise<Finished & { readonly signal: string | null }> {
  const child = spawn(file, args, {
    env: { PATH: process.env.PATH ?? '', HOME: tmpdir(), ...settings },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  child.stdin.on('error', () => {}).end(input)
  const [stdout, stderr, [code, signal]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ])
  return { code: code as number | null, signal: signal as string | null, stdout, stderr }
}
