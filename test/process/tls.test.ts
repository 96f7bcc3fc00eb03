import { once } from 'node:events'
import { dirname } from 'node:path'
import { text } from 'node:stream/consumers'
import { connect, type TLSSocket } from 'node:tls'
import { describe, expect, it } from 'vitest'
import { SANDBOX_KEY } from '../../src/keys/sandbox-key.ts'
import { createCertificate, writeCertificate } from '../certificate.ts'
import { newDataDir, startServer, tabbat } from './tabbat.ts'

const quiet = { TABBAT_LOG_LEVEL: 'silent', TABBAT_RATE_LIMIT: 'off' }
const REQUEST = `GET /api/v2/sme-data/list HTTP/1.1\r\nHost: x\r\nAuthorization: ${SANDBOX_KEY}\r\nConnection: close\r\n\r\n`

async function open(url: string, session?: Buffer): Promise<TLSSocket> {
  const { hostname, port } = new URL(url)
  const resumed = session && { session }
  const socket = connect({ host: hostname, port: Number(port), rejectUnauthorized: false, ...resumed })
  await once(socket, 'secureConnect')
  return socket
}

async function readFingerprint(url: string): Promise<string | undefined> {
  const socket = await open(url)
  const fingerprint = socket.getPeerX509Certificate()?.fingerprint256
  socket.destroy()
  return fingerprint?.replaceAll(':', '').toLowerCase()
}

/** What a caller keeps to resume its session. */
async function readSession(url: string): Promise<Buffer> {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port), rejectUnauthorized: false })
  const session = once(socket, 'session')
  socket.write(REQUEST)
  await text(socket)
  return (await session)[0] as Buffer
}

describe('a server with TLS', () => {
  it.each(['1', '2'])('of %s workers loses no request when it stops', async (TABBAT_WORKERS) => {
    const server = await startServer({ ...quiet, ...writeCertificate(createCertificate()), TABBAT_WORKERS })
    expect(server.url).toMatch(/^https:\/\/127\.0\.0\.1:/)
    expect(server.banner).toMatch(/console +https:/)
    let isStopping = false
    let [answered, lost] = [0, 0]
    const sendRequest = async () => {
      let sentBefore = false
      try {
        const socket = await open(server.url)
        await new Promise<void>((done) => socket.write(REQUEST, () => done()))
        sentBefore = !isStopping
        if ((await text(socket)).startsWith('HTTP/1.1 200')) answered += 1
        else if (sentBefore) lost += 1
      } catch {
        if (sentBefore) lost += 1
      }
    }
    const caller = async () => {
      while (!isStopping) await sendRequest()
    }
    const callers = Array.from({ length: 8 }, caller)
    while (answered < 100) await new Promise((done) => setImmediate(done))
    const ended = server.stop()
    isStopping = true
    await Promise.all(callers)
    expect([await ended, lost]).toEqual([0, 0])
  })

  it('resumes a session at any worker, also after the certificate was replaced', async () => {
    const files = writeCertificate(createCertificate())
    const settings = { ...quiet, ...files, TABBAT_WORKERS: '2', TABBAT_DATA_DIR: newDataDir() }
    const server = await startServer(settings)
    const countWorkers = async () => JSON.parse((await tabbat(settings, 'nodes', '--json')).stdout).length
    await expect.poll(countWorkers).toBe(2)
    const session = await readSession(server.url)
    // Connections are distributed in turn, so these reach both workers.
    const isReused = async () => {
      const socket = await open(server.url, session)
      const reused = socket.isSessionReused()
      socket.destroy()
      return reused
    }
    expect([await isReused(), await isReused(), await isReused(), await isReused()]).toEqual(
      Array(4).fill(true),
    )
    const second = createCertificate()
    writeCertificate(second, dirname(files.TABBAT_TLS_CERT))
    await expect.poll(() => readFingerprint(server.url)).toBe(second.sha256)
    expect([await isReused(), await isReused()]).toEqual([true, true])
    expect(await server.stop()).toBe(0)
  })

  it('uses replaced files without a restart', async () => {
    const [first, second] = [createCertificate(), createCertificate()]
    const files = writeCertificate(first)
    const server = await startServer({ ...quiet, ...files })
    expect(await readFingerprint(server.url)).toBe(first.sha256)
    writeCertificate(second, dirname(files.TABBAT_TLS_CERT))
    await expect.poll(() => readFingerprint(server.url)).toBe(second.sha256)
    expect(await server.stop()).toBe(0)
  })

  it('does not start with the key of another certificate', async () => {
    const files = writeCertificate({ ...createCertificate(), key: createCertificate().key })
    const settings = { ...quiet, ...files, TABBAT_DATA_DIR: newDataDir() }
    const { code, stderr } = await tabbat(settings, 'serve')
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^error: The private key .* does not belong/)])
  })
})
