import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { SANDBOX_KEY } from '../../src/keys/sandbox-key.ts'
import { newDataDir, startServer, tabbat } from './tabbat.ts'

const quiet = { TABBAT_LOG_LEVEL: 'silent' }

describe('tabbat serve', () => {
  it('prints where it listens, what is unsafe, and a curl command that works', async () => {
    const server = await startServer(quiet)
    expect(server.banner).toContain(`${server.url}/docs`)
    expect(server.banner).toContain(SANDBOX_KEY)
    expect(server.banner.match(/warning: /g)).toHaveLength(2)
    const curl = server.banner.split('\n').find((line) => line.startsWith('curl '))
    const { stdout } = await promisify(execFile)('sh', ['-c', curl ?? 'false'])
    expect(JSON.parse(stdout)).toMatchObject({ success: true, data: { verification_status: 'VERIFIED' } })
    expect(await server.stop()).toBe(0)
  })

  it('finishes a request that was accepted before the signal to stop', async () => {
    const server = await startServer(quiet)
    const { port } = new URL(server.url)
    const body = JSON.stringify({ nin: '12345678901', phone: '08031234567' })
    const socket = connect(Number(port), '127.0.0.1')
    socket.write(
      `POST /api/v2/kyc/verify-nin HTTP/1.1\r\nHost: x\r\nAuthorization: ${SANDBOX_KEY}\r\nContent-Length: ${body.length}\r\nExpect: 100-continue\r\n\r\n`,
    )
    // The server asks for the body, so the request is in progress.
    await once(socket, 'data')
    const ended = server.stop()
    const waitUntilClosed = async (): Promise<void> => {
      const probe = connect(Number(port), '127.0.0.1')
      const isListening = await Promise.race([
        once(probe, 'connect').then(() => true),
        once(probe, 'error').then(() => false),
      ]).catch(() => false)
      probe.destroy()
      if (isListening) await waitUntilClosed()
    }
    await waitUntilClosed()
    socket.write(body)
    const answer = await text(socket)
    expect(answer).toContain('HTTP/1.1 200')
    expect(answer.toLowerCase()).toContain('connection: close')
    expect(await ended).toBe(0)
  })

  it('shows metrics on the admin listener only', async () => {
    const server = await startServer(quiet)
    const admin = /metrics +(\S+)/.exec(server.banner)?.[1] ?? ''
    await fetch(`${server.url}/api/v2/sme-data/list`, { headers: { authorization: SANDBOX_KEY } })
    const metrics = await (await fetch(admin)).text()
    expect(metrics).toContain(
      'tabbat_requests_total{operation="list_sme_bundles",mode="test",outcome="ok"} 1',
    )
    expect((await fetch(`${server.url}/metrics`)).status).toBe(404)
    expect(await server.stop()).toBe(0)
  })
})

it('has the metrics on a port of their own, without the console', async () => {
  const server = await startServer({ ...quiet, TABBAT_METRICS_PORT: '0', TABBAT_ADMIN_PORT: 'off' })
  const url = /metrics +(\S+)/.exec(server.banner)?.[1] ?? ''
  const statusOf = async (path: string) => (await fetch(new URL(path, url))).status
  expect([await statusOf('/metrics'), await statusOf('/console'), await statusOf('/health/live')]).toEqual([
    200, 404, 404,
  ])
  expect(await server.stop()).toBe(0)
})

describe('a server that cannot start says what to do', () => {
  it('when settings are invalid, with all problems together', async () => {
    const { code, stderr } = await tabbat({ TABBAT_PORT: 'x', TABBAT_SANDBOX: 'y' }, 'serve')
    expect(code).toBe(1)
    expect(stderr.trim().split('\n')).toHaveLength(2)
    expect(stderr).toContain('TABBAT_PORT must be')
    expect(stderr).toContain('TABBAT_SANDBOX must be')
  })

  it('when the port is taken', async () => {
    const server = await startServer(quiet)
    const { port } = new URL(server.url)
    const { code, stderr } = await tabbat(
      { ...quiet, TABBAT_PORT: port, TABBAT_DATA_DIR: newDataDir() },
      'serve',
    )
    expect([code, stderr]).toEqual([
      1,
      `error: Port ${port} on 127.0.0.1 is taken. Stop the other program or set TABBAT_PORT to a free port.\n`,
    ])
    await server.stop()
  })

  it('when the root key is not the one of the database', async () => {
    const settings = { ...quiet, TABBAT_DATA_DIR: newDataDir() }
    await tabbat(
      { ...settings, TABBAT_ROOT_KEY: 'ab'.repeat(32) },
      'keys',
      'create',
      '--name',
      'x',
      '--mode',
      'test',
    )
    const { code, stderr } = await tabbat({ ...settings, TABBAT_ROOT_KEY: 'cd'.repeat(32) }, 'serve')
    expect([code, stderr.includes('not the one this database was created with')]).toEqual([1, true])
    expect(stderr).not.toContain('cdcd')
  })

  it('when the command prints the root key of another database', async () => {
    const settings = { ...quiet, TABBAT_DATA_DIR: newDataDir() }
    const printing = (key: string) => ({
      ...settings,
      TABBAT_ROOT_KEY_COMMAND: `"${process.execPath}" -e "console.log('${key}')"`,
    })
    const server = await startServer(printing('ab'.repeat(32)))
    expect(await server.stop()).toBe(0)
    expect(server.banner).not.toContain('abab')
    const { code, stderr } = await tabbat(printing('cd'.repeat(32)), 'serve')
    expect([code, stderr]).toEqual([
      1,
      'error: The root key (from the output of TABBAT_ROOT_KEY_COMMAND) is not the one this database was created with. Give the right one. Nothing was changed.\n',
    ])
  })

  it('when the data folder may not be written', async () => {
    const { code, stderr } = await tabbat({ TABBAT_DATA_DIR: '/etc/hostname/data' }, 'serve')
    expect([code, stderr.includes('set TABBAT_DATA_DIR')]).toEqual([1, true])
  })
})
