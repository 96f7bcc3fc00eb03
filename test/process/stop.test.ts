import { once } from 'node:events'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect, it } from 'vitest'
import { createToken, toTokenId } from '../../src/accounts/accounts.ts'
import { toSessionMacs } from '../../src/accounts/sessions.ts'
import { loadConfig } from '../../src/context/config.ts'
import { toCommandAuthor } from '../../src/contract/free-text.ts'
import { SANDBOX_KEY } from '../../src/keys/sandbox-key.ts'
import { createContext } from '../../src/server/create-context.ts'
import { newDataDir, startServer } from './tabbat.ts'

const REQUEST = `GET /api/v2/sme-data/list HTTP/1.1\r\nHost: x\r\nAuthorization: ${SANDBOX_KEY}\r\nConnection: close\r\n\r\n`

it('answers every request that was sent before the signal to stop, each on a connection of its own', async () => {
  const server = await startServer({ TABBAT_LOG_LEVEL: 'silent', TABBAT_RATE_LIMIT: 'off' })
  const port = Number(new URL(server.url).port)
  let signalled = false
  let [answered, lost] = [0, 0]

  const sendRequest = async () => {
    const socket = connect(port, '127.0.0.1')
    let sentBefore = false
    try {
      await once(socket, 'connect')
      await new Promise<void>((done) => socket.write(REQUEST, () => done()))
      sentBefore = !signalled
      if ((await text(socket)).startsWith('HTTP/1.1 200')) answered += 1
      else if (sentBefore) lost += 1
    } catch {
      if (sentBefore) lost += 1
    }
  }
  const caller = async () => {
    while (!signalled) await sendRequest()
  }
  const callers = Array.from({ length: 16 }, caller)
  while (answered < 300) await new Promise((done) => setImmediate(done))
  const ended = server.stop()
  signalled = true
  await Promise.all(callers)
  expect(await ended).toBe(0)
  expect(answered).toBeGreaterThanOrEqual(300)
  expect(lost).toBe(0)
})

/** A log larger than a socket buffer, and the session of an account that may export it. */
async function fillLog(dataDir: string): Promise<string> {
  const { audit, store, keyring, close } = await createContext(
    loadConfig({ TABBAT_DATA_DIR: dataDir, TABBAT_LOG_LEVEL: 'silent' }, ''),
  )
  const detail = 'x'.repeat(100_000)
  await audit.record(Array.from({ length: 400 }, () => ({ phase: 'imported', detail })))
  const [token, now] = [createToken(), Date.now()]
  const id = toTokenId(keyring()['console-token'], token) as Uint8Array
  const role = 'operator'
  const invitation = { id, role, account: undefined, madeBy: toCommandAuthor(), createdAt: now } as const
  await store.accounts.invite({ ...invitation, expiresAt: now + 60_000 })
  const password = 'none'
  await store.accounts.accept(id, { name: 'ada', role, password, createdAt: now, lastSeenAt: undefined })
  const bound = { id, account: 'ada', method: 'password', confirmedAt: now } as const
  const macs = toSessionMacs(keyring()['console-token'], bound)
  await store.accounts.open({ id, account: 'ada', password, at: now, macs })
  await close()
  return token
}

it('stops in order while a client of the audit export does not read', async () => {
  const dataDir = newDataDir()
  const token = await fillLog(dataDir)
  const server = await startServer({ TABBAT_LOG_LEVEL: 'silent', TABBAT_DATA_DIR: dataDir })
  const console = new URL(/console +(\S+)\/console/.exec(server.banner)?.[1] ?? '')
  const socket = connect(Number(console.port), '127.0.0.1').on('error', () => {})
  socket.write(
    `GET /admin/audit/export HTTP/1.1\r\nHost: ${console.host}\r\nCookie: tabbat_console=${token}\r\n\r\n`,
  )
  await once(socket, 'readable')
  expect(String(socket.read(15))).toBe('HTTP/1.1 200 OK')
  expect(await server.stop()).toBe(0)
  socket.destroy()
})
