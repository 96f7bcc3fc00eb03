import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { describe, expect, it } from 'vitest'
import { SANDBOX_KEY } from '../../src/keys/sandbox-key.ts'
import { createClient } from '../battery/client.ts'
import { startOnEmptyFolder } from '../battery/start.ts'
import { childrenOf, newDataDir, startServer, TABBAT, tabbat } from './tabbat.ts'

/** Two workers that have both started. */
async function startWorkers(settings: Record<string, string> = {}) {
  const env = {
    TABBAT_PORT: '0',
    TABBAT_ADMIN_PORT: 'off',
    TABBAT_DATA_DIR: newDataDir(),
    TABBAT_WORKERS: '2',
    TABBAT_SHUTDOWN_DELAY: 'off',
  }
  const child = spawn(TABBAT.file, ['serve'], {
    env: { PATH: process.env.PATH ?? '', ...env, ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let banner = ''
  let errors = ''
  child.stdout.on('data', (piece: Buffer) => {
    banner += piece.toString()
  })
  child.stderr.on('data', (piece: Buffer) => {
    errors += piece.toString()
  })
  await expect.poll(() => errors.split('"event":"started"').length).toBe(3)
  await expect.poll(() => banner).toMatch(/listening on +\S+\s/)
  return { child, url: /listening on +(\S+)/.exec(banner)?.[1] ?? '', readErrors: () => errors }
}

/** A connection that one of the workers has accepted. */
async function openConnection(url: string): Promise<Socket> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname).on('error', () => {})
  await requestLive(socket)
  return socket
}

async function requestLive(socket: Socket): Promise<void> {
  socket.write('GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n')
  expect(String((await once(socket, 'data'))[0])).toContain('200 OK')
}

describe('TABBAT_WORKERS=2', () => {
  it('answers from two processes, and loses nothing when it stops', async () => {
    const settings = { TABBAT_DATA_DIR: newDataDir(), TABBAT_WORKERS: '2', TABBAT_LOG_LEVEL: 'silent' }
    const server = await startServer(settings)
    const workers = () => childrenOf(server.child.pid)
    await expect.poll(async () => (await workers()).length).toBe(2)
    const client = createClient(16)
    const sendRequest = (index: number) =>
      client.post(
        `${server.url}/api/v2/kyc/verify-nin`,
        { nin: String(20_000_000_000 + index), phone: '08031234567' },
        { authorization: `Bearer ${SANDBOX_KEY}` },
      )
    const answers = await Promise.all(Array.from({ length: 64 }, (_each, index) => sendRequest(index)))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
    const readMetrics = async () => (await client.get(/metrics +(\S+)/.exec(server.banner)?.[1] ?? '')).body
    // The second worker may still be starting.
    await expect.poll(readMetrics).toContain('worker="2"')
    const metrics = await readMetrics()
    expect(metrics).toContain(
      'tabbat_requests_total{operation="verify_nin",mode="test",outcome="verified"} 64',
    )
    for (const worker of ['1', '2', 'primary'])
      for (const name of [
        'process_cpu_seconds_total',
        'process_resident_memory_bytes',
        'nodejs_eventloop_lag_p99_seconds',
      ])
        expect(metrics).toMatch(new RegExp(`^${name}{worker="${worker}"} [\\d.e-]+$`, 'm'))
    client.close()
    expect(await server.stop()).toBe(0)
    const { code, stdout } = await tabbat(settings, 'audit', 'verify', '--json')
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({ rows: 64 })
  })

  it('starts on an empty folder, every time', async () => {
    // npm run battery:start does so 500 times.
    for (let round = 0; round < 3; round++)
      expect(await startOnEmptyFolder()).toMatchObject({ isStarted: true, code: 0 })
  })

  it('replaces a worker that dies early, and ends with a log line after the third', async () => {
    const { child, url, readErrors } = await startWorkers()
    const killSecond = async () => {
      const workers = await childrenOf(child.pid)
      if (workers.length === 2) process.kill(Math.max(...workers), 'SIGKILL')
      return readErrors().split('"event":"worker_died"').length - 1
    }
    await expect.poll(killSecond).toBe(1)
    await expect.poll(async () => (await childrenOf(child.pid)).length).toBe(2)
    expect((await fetch(`${url}/health/live`)).status).toBe(200)
    await expect.poll(killSecond, { interval: 100 }).toBe(3)
    await expect.poll(() => child.exitCode).toBe(1)
    expect(readErrors()).toContain('"event":"workers_keep_dying"')
  })

  it('keeps the request counts of a worker that died', async () => {
    const { child, url, banner } = await startServer({ TABBAT_WORKERS: '2', TABBAT_LOG_LEVEL: 'silent' })
    const readMetrics = async () => (await fetch(/metrics +(\S+)/.exec(banner)?.[1] ?? '')).text()
    await expect.poll(readMetrics).toContain('worker="2"')
    // Connections are distributed in turn, so each worker gets some of these.
    for (let each = 0; each < 8; each++)
      await fetch(`${url}/health/live`, { headers: { connection: 'close' } })
    const count = async () =>
      Number(/operation="health",.*,outcome="ok"} (\d+)/.exec(await readMetrics())?.[1])
    expect(await count()).toBe(8)
    process.kill(Math.max(...(await childrenOf(child.pid))), 'SIGKILL')
    await expect.poll(readMetrics, { interval: 20 }).not.toContain('worker="2"')
    expect(await count()).toBe(8)
    await expect.poll(readMetrics).toContain('worker="2"')
    expect(await count()).toBe(8)
    child.kill('SIGTERM')
    expect((await once(child, 'close'))[0]).toBe(0)
  })

  it('survives a worker that is killed while it waits for the supervising process', async () => {
    // With such a low limit, every request asks the supervising process.
    const { child, url, readErrors } = await startWorkers({ TABBAT_RATE_LIMIT: '20' })
    const sockets = await Promise.all(Array.from({ length: 8 }, () => openConnection(url)))
    child.kill('SIGSTOP')
    const look = `GET /api/v2/sme-data/list HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${SANDBOX_KEY}\r\n\r\n`
    for (const socket of sockets.slice(0, 4)) socket.write(look)
    // When these are answered, the workers have read the others as well.
    await Promise.all(sockets.slice(4).map(requestLive))
    process.kill(Math.max(...(await childrenOf(child.pid))), 'SIGKILL')
    child.kill('SIGCONT')
    await expect.poll(() => readErrors().split('"event":"started"').length).toBe(4)
    expect(child.exitCode).toBe(null)
    expect((await fetch(`${url}/health/live`)).status).toBe(200)
    child.kill('SIGTERM')
    expect((await once(child, 'close'))[0]).toBe(0)
  })

  it.each(['SIGINT', 'SIGTERM'] as const)('loses nothing when every process gets %s', async (signal) => {
    const { child, url } = await startWorkers()
    const socket = await openConnection(url)
    const body = JSON.stringify({ nin: '12345678901', phone: '08031234567' })
    const head = [
      'POST /api/v2/kyc/verify-nin HTTP/1.1',
      'Host: localhost',
      `Authorization: ${SANDBOX_KEY}`,
      `Content-Length: ${body.length}`,
    ]
    socket.write(`${head.join('\r\n')}\r\n\r\n${body.slice(0, 1)}`)
    // A terminal and systemd signal all processes.
    for (const worker of await childrenOf(child.pid)) process.kill(worker, signal)
    const isReady = () =>
      fetch(`${url}/health/ready`).then(
        ({ ok }) => ok,
        () => false,
      )
    await expect.poll(isReady).toBe(false)
    child.kill(signal)
    socket.write(body.slice(1))
    expect(String((await once(socket, 'data'))[0])).toContain('200 OK')
    expect((await once(child, 'close'))[0]).toBe(0)
  })

  it('holds the rate limit for all workers together', async () => {
    const limit = 400
    const { child, url } = await startWorkers({ TABBAT_RATE_LIMIT: String(limit) })
    const client = createClient(16)
    const sendRequest = () => client.get(`${url}/api/v2/sme-data/list`, { authorization: SANDBOX_KEY })
    const answers = await Promise.all(Array.from({ length: 2 * limit }, sendRequest))
    const count = (status: number) => answers.filter((answer) => answer.status === status).length
    expect(count(200) + count(429)).toBe(2 * limit)
    expect(count(200)).toBeLessThanOrEqual(limit)
    expect(count(200)).toBeGreaterThanOrEqual(0.95 * limit)
    const refused = await sendRequest()
    expect([refused.status, refused.headers.ratelimit]).toEqual([429, expect.stringMatching(/^"key";r=0;t=/)])
    client.close()
    child.kill('SIGTERM')
    expect((await once(child, 'close'))[0]).toBe(0)
  })

  it('prints once why it cannot start, and exits', async () => {
    const { code, stderr } = await tabbat(
      {
        TABBAT_DATA_DIR: 'package.json/data',
        TABBAT_WORKERS: '2',
        TABBAT_PORT: '0',
        TABBAT_ADMIN_PORT: 'off',
      },
      'serve',
    )
    expect(code).toBe(1)
    expect(stderr.split('error:').length).toBe(2)
  })
})
