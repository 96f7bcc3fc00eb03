import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { answerWith, type Received, type Receiver, startReceiver } from '../webhooks/receiver.ts'
import { newDataDir, type RunningServer, startServer, tabbat } from './tabbat.ts'

const settings = {
  TABBAT_DATA_DIR: newDataDir(),
  TABBAT_LOG_LEVEL: 'silent',
  TABBAT_WEBHOOKS_PRIVATE: 'on',
}
let server: RunningServer
let receiver: Receiver

beforeAll(async () => {
  server = await startServer(settings)
  receiver = await startReceiver()
})
afterAll(async () => {
  await receiver.close()
  await server.stop()
})

const run = (...args: string[]) => tabbat(settings, 'webhooks', ...args)
const runJson = async (...args: string[]) => JSON.parse((await run(...args, '--json')).stdout)
const create = (event = 'catalogue.changed', ...args: string[]) =>
  runJson('create', '--name', 'shop', '--url', receiver.url, '--event', event, ...args) as Promise<{
    id: string
    secret: string
    state: string
    keys: string[]
  }>
const verify = (secret: string, { body, headers }: Received) =>
  new Webhook(secret).verify(body, headers as Record<string, string>)

describe('tabbat webhooks', () => {
  it('create, test, list: a signed test event arrives, and no command shows the secret again', async () => {
    const { id, secret } = await create()
    const tested = await runJson('test', id)
    expect(tested).toMatchObject({ ok: true, status: 200 })
    expect(verify(secret, receiver.received.at(-1) as Received)).toMatchObject({ type: 'webhook.test' })
    const { stdout } = await run('list', '--json')
    expect(JSON.parse(stdout)).toMatchObject([{ id, state: 'active', pending: 0 }])
    expect(stdout).not.toContain(secret.slice(6))
    expect((await run('list')).stdout).toContain('operator')
    await run('delete', id, '--yes')
  })

  it('test says what is wrong, and ends with 1', async () => {
    const { id } = await create()
    receiver.answer = answerWith(500)
    const { code, stdout } = await run('test', id)
    expect([code, stdout]).toEqual([1, expect.stringContaining('Status 500')])
    receiver.answer = answerWith(200)
    await run('delete', id, '--yes')
  })

  it('a running server delivers an event that a command has caused, and resends it', async () => {
    const { id, secret } = await create()
    const before = receiver.received.length
    expect((await tabbat(settings, 'catalogue', 'import', await writeLists())).code).toBe(0)
    await receiver.wait(before + 1)
    const first = receiver.received[before] as Received
    expect(verify(secret, first)).toMatchObject({ type: 'catalogue.changed', data: { status: 'changed' } })
    const [entry] = await waitForState(id, 'delivered')
    await run('resend', id, entry.event_id)
    await receiver.wait(before + 2)
    expect(receiver.received[before + 1]?.headers['webhook-id']).toBe(first.headers['webhook-id'])
    await waitForState(id, 'delivered')
    giveUp(id)
    expect((await run('resend', id, '--failed', '--since', '2100-01-01')).stdout).toContain('Nothing is sent')
    expect(await runJson('resend', id, '--failed', '--since', '1h')).toMatchObject({
      resent: 1,
      is_cut: false,
    })
    await receiver.wait(before + 3)
    expect(receiver.received[before + 2]?.headers['webhook-id']).toBe(first.headers['webhook-id'])
    await run('delete', id, '--yes')
  })

  it.each([
    [[], 'Give the id of an event, or --failed'],
    [['evt_x', '--failed'], 'Give the id of an event, or --failed'],
    [['evt_x', '--since', '1h'], '--since needs --failed'],
    [['--failed', '--since', '14 o clock'], 'Give a date such as'],
  ])('resend refuses %j', async (args, message) => {
    const { id } = await create()
    const { code, stderr } = await run('resend', id, ...args)
    expect(code).not.toBe(0)
    expect(stderr).toContain(message)
    await run('delete', id, '--yes')
  })

  it('disable and enable', async () => {
    const { id } = await create()
    expect((await run('disable', id)).stdout).toBe(`Endpoint ${id} is disabled.\n`)
    expect((await run('disable', id)).stderr).toContain('disabled already')
    expect((await run('list')).stdout).toContain('disabled (operator)')
    expect((await run('enable', id)).code).toBe(0)
    await run('delete', id, '--yes')
  })

  it('delete asks: without a terminal it refuses, and --yes confirms', async () => {
    const { id } = await create()
    const { code, stderr } = await run('delete', id)
    expect(code).toBe(1)
    expect(stderr).toContain(
      'This cannot be undone. Without a terminal, confirm with --yes. Nothing was deleted.',
    )
    expect(await runJson('list')).toMatchObject([{ id }])
    expect(await runJson('delete', id, '--yes')).toMatchObject({ id, deleted: true })
    expect(await runJson('list')).toEqual([])
  })

  it('belong to keys, and stay with them', async () => {
    const key = JSON.parse(
      (await tabbat(settings, 'keys', 'create', '--name', 'shop', '--mode', 'test', '--json')).stdout,
    ) as { id: string }
    const made = await create('verification.completed', '--key', key.id)
    expect(made.keys).toEqual([key.id])
    await run('delete', made.id, '--yes')
  })

  it.each([
    [{ '--event': 'nothing.happened' }, 'The events are'],
    [{ '--key': 'unknown1' }, 'does not exist'],
    [{ '--url': 'ftp://shop.example' }, 'Give an address such as'],
    [{ '--url': 'https://user:secret@shop.example/' }, 'without a user'],
    [{ '--name': 'Ada 08031234567' }, 'ten digits'],
  ])('create refuses %j', async (wrong, message) => {
    const options = { '--name': 'x', '--url': 'https://shop.example', '--event': 'source.down', ...wrong }
    const { code, stderr } = await run('create', ...Object.entries(options).flat())
    expect([code, stderr]).toEqual([1, expect.stringContaining(message)])
    expect(stderr).not.toMatch(/08031234567|secret@/)
  })

  it('refuses private addresses and plain http without the setting', async () => {
    const strict = { ...settings, TABBAT_WEBHOOKS_PRIVATE: 'off' }
    const args = ['webhooks', 'create', '--name', 'x', '--event', 'source.down', '--url']
    for (const url of ['https://169.254.169.254/', 'http://shop.example/']) {
      const { code, stderr } = await tabbat(strict, ...args, url)
      expect([code, stderr]).toEqual([1, expect.stringContaining('TABBAT_WEBHOOKS_PRIVATE=on')])
    }
  })

  it.each(['test', 'roll', 'disable', 'delete', 'deliveries'])('%s names no unknown id', async (command) => {
    const { code, stderr } = await run(command, 'whsec_pasted')
    expect([code, stderr]).toEqual([1, expect.stringContaining('There is no endpoint with this id')])
    expect(stderr).not.toContain('pasted')
  })
})

it('the receiver of docs/webhooks.md prints the event', async () => {
  const page = readFileSync('docs/webhooks.md', 'utf8')
  const [, block = ''] = /```sh\n(export TABBAT_WEBHOOKS_PRIVATE=on\n[\s\S]*?)\n```/.exec(page) ?? []
  const port = await findFreePort()
  const pasted = block.replaceAll('3000', String(port)).replaceAll('http://127.0.0.1:8080', server.url)
  const env = { PATH: process.env.PATH ?? '', HOME: tmpdir(), ...settings }
  const shell = spawn('bash', ['-c', `${pasted}\nwait`], {
    env,
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let printed = ''
  for await (const piece of shell.stdout) {
    printed += piece
    if (printed.includes('verification.completed')) break
  }
  // The shell and the receiver are one group.
  process.kill(-(shell.pid as number))
  expect(printed).toMatch(/^verification\.completed ver_\w+ VERIFIED$/m)
})

async function findFreePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address() as AddressInfo
  probe.close()
  return port
}

/** The lists of the catalogue in a file, with a new list. */
async function writeLists(): Promise<string> {
  const file = join(settings.TABBAT_DATA_DIR, 'lists.json')
  await tabbat(settings, 'catalogue', 'export', file)
  const lists = JSON.parse(readFileSync(file, 'utf8'))
  const one = join(settings.TABBAT_DATA_DIR, 'swift.json')
  writeFileSync(one, JSON.stringify({ ...lists.internet[1], segment: 'swift', type: 'SWIFT' }))
  return one
}

/** As after the last retry. */
function giveUp(id: string): void {
  const database = new DatabaseSync(join(settings.TABBAT_DATA_DIR, 'tabbat.db'), { timeout: 5000 })
  database.prepare("UPDATE webhook_deliveries SET state = 'failed' WHERE endpoint_id = ?").run(id)
  database.close()
}

async function waitForState(id: string, state: string) {
  for (;;) {
    const entries = JSON.parse((await run('deliveries', id, '--json')).stdout)
    if (entries[0]?.state === state) return entries
  }
}
