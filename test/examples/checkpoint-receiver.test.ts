import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SANDBOX_KEY } from '../../src/keys/sandbox-key.ts'
import { createSecret, toSignedHeaders } from '../../src/webhooks/attempt.ts'
import { newDataDir, type Settings, startServer, tabbat } from '../process/tabbat.ts'

const PROGRAM = 'examples/node/checkpoint-receiver.mjs'

/** Starts the example. It keeps the port of its predecessor. */
async function startExample(secret: string, file: string, port = '0') {
  const env = { ...process.env, WEBHOOK_SECRET: secret, CHECKPOINT_FILE: file, PORT: port }
  const child = spawn(process.execPath, [PROGRAM], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  const [line] = await once(child.stdout, 'data')
  return { child, port: /\d+/.exec(String(line))?.[0] ?? '' }
}

async function stop(child: ChildProcess): Promise<void> {
  child.kill()
  await once(child, 'exit')
}

/** Starts a server, verifies once, and stops it, which makes the last checkpoint. */
async function serveOnce(settings: Settings): Promise<void> {
  const server = await startServer(settings)
  const answer = await fetch(`${server.url}/api/v2/kyc/verify-nin`, {
    method: 'POST',
    headers: { authorization: `Bearer ${SANDBOX_KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify({ nin: '12345678901', phone: '08031234567' }),
  })
  expect(answer.status).toBe(200)
  expect(await server.stop()).toBe(0)
}

/** Cuts off the end of the log, the checkpoints of it, and their lines in the file of the server. */
function cut(folder: string): void {
  const database = new DatabaseSync(join(folder, 'tabbat.db'))
  database.exec(`
    DROP TRIGGER audit_no_delete;
    DROP TRIGGER checkpoints_no_delete;
    DELETE FROM audit WHERE sequence > 1;
    DELETE FROM checkpoints WHERE time > (SELECT MIN(time) FROM checkpoints)`)
  database.close()
  const file = join(folder, 'checkpoints.log')
  writeFileSync(file, `${readFileSync(file, 'utf8').split('\n')[0]}\n`)
}

describe('the example that receives checkpoints', () => {
  const folders = [newDataDir(), mkdtempSync(join(tmpdir(), 'tabbat-receiver-'))]
  const [dataDir = '', elsewhere = ''] = folders
  const file = join(elsewhere, 'checkpoints.ndjson')
  const settings: Settings = {
    TABBAT_DATA_DIR: dataDir,
    TABBAT_LOG_LEVEL: 'silent',
    TABBAT_WEBHOOKS_PRIVATE: 'on',
  }
  const verify = (...args: string[]) => tabbat(settings, 'audit', 'verify', ...args)
  let receiver: ChildProcess

  beforeAll(async () => {
    const first = await startExample(createSecret(), file)
    await stop(first.child)
    const url = `http://127.0.0.1:${first.port}/`
    const args = ['--name', 'elsewhere', '--url', url, '--event', 'audit.checkpoint', '--json']
    const { secret } = JSON.parse((await tabbat(settings, 'webhooks', 'create', ...args)).stdout)
    receiver = (await startExample(secret, file, first.port)).child
    for (let turn = 0; turn < 2; turn++) await serveOnce(settings)
  })
  afterAll(async () => {
    await stop(receiver)
    for (const folder of folders) rmSync(folder, { recursive: true, force: true })
  })

  it('has every checkpoint in order, also the one of the shutdown, and the log agrees with it', async () => {
    const { code, stdout } = await verify('--checkpoints', file, '--json')
    const result = JSON.parse(stdout)
    expect([code, result.sound]).toEqual([0, true])
    expect(result.limits[0]).toMatch(/^This holds up to 2/)
    const received = readFileSync(file, 'utf8').trim().split('\n')
    const signatures = received.map((line) => JSON.parse(line).data.signature)
    const own = readFileSync(join(dataDir, 'checkpoints.log'), 'utf8').trim().split('\n')
    expect(signatures).toEqual(own.map((line) => JSON.parse(line).signature).slice(-signatures.length))
    expect(signatures.length).toBeGreaterThan(1)
  })

  it('shows that the end of the log was cut off, also after the server has signed new rows', async () => {
    cut(dataDir)
    expect((await verify()).code).toBe(0)
    for (let turn = 0; turn < 2; turn++) {
      const { code, stdout } = await verify('--checkpoints', file)
      expect([code, stdout]).toEqual([
        1,
        expect.stringMatching(/NOT sound\. First fault: .* in \S+\.ndjson /),
      ])
      await serveOnce(settings)
    }
  })

  it('refuses what is not signed with its secret, and does not start without one', async () => {
    const secret = createSecret()
    const target = join(elsewhere, 'other.ndjson')
    const { child, port } = await startExample(secret, target)
    const body = JSON.stringify({ type: 'audit.checkpoint', data: {} })
    const send = async (key: string, at: number) => {
      const headers = toSignedHeaders({ id: 'evt_1', at, body }, [key])
      return (await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', headers, body })).status
    }
    expect(await send(createSecret(), Date.now())).toBe(401)
    expect(await send(secret, Date.now() - 301_000)).toBe(401)
    expect((await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body })).status).toBe(401)
    expect(await send(secret, Date.now())).toBe(204)
    expect(readFileSync(target, 'utf8')).toBe(`${body}\n`)
    await stop(child)
    const env = { ...process.env, WEBHOOK_SECRET: '' }
    const refused = spawn(process.execPath, [PROGRAM], { env, stdio: ['ignore', 'ignore', 'pipe'] })
    expect(await text(refused.stderr)).toContain('Set WEBHOOK_SECRET')
  })
})
