import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { expect } from 'vitest'
import { SANDBOX_KEY } from '../../src/keys/sandbox-key.ts'
import { createSecret, toSignedHeaders } from '../../src/webhooks/attempt.ts'
import { type Command, ENVIRONMENT } from '../examples/languages.ts'
import { findFreePort } from '../free-port.ts'

/** The blocks of code in the README of a package that are in a language. */
export const readExamples = (folder: string, language: string): string[] =>
  readFileSync(`${folder}/README.md`, 'utf8')
    .split(`\n\`\`\`${language}\n`)
    .slice(1)
    .map((block) => `${block.split('\n```')[0]}\n`)

type Settings = Readonly<Record<string, string>>

const start = ([program, ...args]: Command, env: Settings) =>
  spawn(program, args, {
    env: { ...ENVIRONMENT, TABBAT_KEY: SANDBOX_KEY, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })

/** What a program prints. It must end well. */
export async function outputOf(command: Command, env: Settings): Promise<string> {
  const child = start(command, env)
  const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'close')])
  expect(code).toBe(0)
  return output
}

/** Starts a receiver of webhooks, and sends it one that is signed and one that is not. It prints the first. */
export async function postWebhooks(
  toProgram: (port: string, secret: string) => { command: Command; env: Settings },
): Promise<void> {
  const [port, secret] = [String(await findFreePort()), createSecret()]
  const { command, env } = toProgram(port, secret)
  const child = start(command, env)
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const body = '{"type":"batch.completed","timestamp":"2026-11-16T01:01:02Z","data":{"reference":"bat_1"}}'
  const headers = toSignedHeaders({ id: 'evt_1', at: Date.now(), body }, [secret])
  const post = async (sent: string) =>
    (await fetch(`http://127.0.0.1:${port}`, { method: 'POST', headers, body: sent })).status
  await expect.poll(() => post('').catch(() => 'not ready')).toBe(401)
  expect(await post(body)).toBe(204)
  for (let line = ''; line !== 'evt_1 batch.completed bat_1'; line = (await lines.next()).value ?? 'the end')
    expect(line).not.toBe('the end')
  expect(await post(`${body} `)).toBe(401)
  child.kill()
  await once(child, 'close')
}
