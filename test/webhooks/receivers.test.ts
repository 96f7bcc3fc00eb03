import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createEvent, toEventBody } from '../../src/contract/event.ts'
import { createSecret, toSignedHeaders } from '../../src/webhooks/attempt.ts'

const FOLDER = 'docs/examples/webhooks'
const RECEIVERS = [
  { language: 'TypeScript', command: process.execPath, args: () => [`${FOLDER}/receiver.ts`] },
  { language: 'Python', command: 'python3', args: () => [`${FOLDER}/receiver.py`] },
  {
    language: 'PHP',
    command: 'php',
    args: (port: string) => ['-S', `127.0.0.1:${port}`, `${FOLDER}/receiver.php`],
  },
]
const isInstalled = (command: string) => spawnSync(command, ['--version']).status === 0

async function findPort(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return String(port)
}

it.each(RECEIVERS.filter(({ language, command }) => language !== 'PHP' && isInstalled(command)))(
  'the receiver in $language does not start without a secret',
  ({ command, args }) => {
    const env = { ...process.env, WEBHOOK_SECRET: '', PORT: '0' }
    const { status, stderr } = spawnSync(command, args('0'), { env, encoding: 'utf8', timeout: 20_000 })
    expect(status).toBe(1)
    expect(stderr).toContain('Set WEBHOOK_SECRET')
  },
)

describe.each(RECEIVERS)('the receiver in $language', ({ command, args }) => {
  const canRun = isInstalled(command)
  const secret = createSecret()
  const printed: string[] = []
  let child: ChildProcess
  let url: string
  /** Where PHP, which keeps nothing in memory, keeps what it has seen. */
  let seenFolder: string

  /** PHP prints that it is ready on standard error, and lines of its own. */
  const waitForLine = async (isWanted: (line: string) => boolean) => {
    for (const stream of [child.stdout, child.stderr]) {
      if (!stream) continue
      createInterface({ input: stream }).on('line', (line) => printed.push(line))
    }
    while (!printed.some(isWanted))
      await Promise.race([once(child.stdout ?? child, 'data'), once(child.stderr ?? child, 'data')])
  }
  beforeAll(async () => {
    if (!canRun) return
    const port = await findPort()
    url = `http://127.0.0.1:${port}/hooks`
    seenFolder = mkdtempSync(join(tmpdir(), 'tabbat-seen-'))
    const settings = { WEBHOOK_SECRET: secret, PORT: port, SEEN_FOLDER: seenFolder }
    child = spawn(command, args(port), { env: { ...process.env, ...settings } })
    await waitForLine((line) => /ready|started/.test(line))
  })
  afterAll(() => {
    if (!canRun) return
    child.kill()
    rmSync(seenFolder, { recursive: true, force: true })
  })

  const data = { reference: 'ver_1', status: 'VERIFIED', mode: 'test' }
  const event = createEvent({
    type: 'verification.completed',
    at: Date.now(),
    keyId: '',
    reference: 'ver_1',
    data,
  })
  const body = toEventBody(event)
  const send = async (secrets: readonly string[], { at = Date.now(), id = event.id, text = body } = {}) => {
    const headers = toSignedHeaders({ id, at, body }, secrets)
    return (await fetch(url, { method: 'POST', headers, body: text })).status
  }

  it.skipIf(!canRun)(
    'accepts a genuine event, also one with two signatures and one that it has seen',
    async () => {
      expect(await send([secret])).toBe(204)
      expect(await send([createSecret(), secret])).toBe(204)
      expect(await send([secret])).toBe(204)
      const lines = () => printed.filter((line) => line === 'verification.completed ver_1 VERIFIED')
      while (lines().length === 0) await once(child.stdout ?? child, 'data')
      expect(lines()).toHaveLength(1)
    },
  )

  it.skipIf(!canRun || command !== 'php')('asks for an event again that it could not keep', async () => {
    rmSync(seenFolder, { recursive: true })
    writeFileSync(seenFolder, '')
    expect(await send([secret], { id: 'evt_2' })).toBe(500)
    rmSync(seenFolder)
    expect(await send([secret], { id: 'evt_2' })).toBe(204)
  })

  it.skipIf(!canRun)('refuses a forged, changed or old event', async () => {
    expect(await send([createSecret()])).toBe(401)
    expect(await send([secret], { text: body.replace('VERIFIED', 'NOT_VERIFIED') })).toBe(401)
    expect(await send([secret], { at: Date.now() - 301_000 })).toBe(401)
    expect(await send([secret], { at: Date.now() + 600_000 })).toBe(401)
    expect((await fetch(url, { method: 'POST', body })).status).toBe(401)
    // With the signature of a genuine one, whose id or time was changed: a recorded event cannot be made a new one.
    const [genuine, recorded] = [Date.now(), Date.now() - 301_000].map((at) =>
      toSignedHeaders({ id: event.id, at, body }, [secret]),
    )
    const sendWith = async (headers = {}) =>
      (await fetch(url, { method: 'POST', headers: { ...genuine, ...headers }, body })).status
    expect(await sendWith({ 'webhook-id': 'evt_3' })).toBe(401)
    expect(await sendWith({ 'webhook-signature': recorded?.['webhook-signature'] })).toBe(401)
    expect(await sendWith()).toBe(204)
  })

  it.skipIf(!canRun)('goes on when a sender breaks off in the middle of a body', async () => {
    const { hostname, port } = new URL(url)
    const sender = connect(Number(port), hostname)
    const head = `POST /hooks HTTP/1.1\r\nhost: ${hostname}\r\ncontent-length: 100\r\n\r\n`
    await new Promise((sent) => sender.write(`${head}half`, sent))
    sender.destroy()
    await once(sender, 'close')
    expect(await send([secret])).toBe(204)
    expect(child.exitCode).toBeNull()
  })
})
