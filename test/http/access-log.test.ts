import { mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { type AddressInfo, connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { buildAdminServer } from '../../src/admin/server.ts'
import { loadConfig } from '../../src/context/config.ts'
import type { Context } from '../../src/context/context.ts'
import type { App } from '../../src/http/app.ts'
import { createApiServer } from '../../src/server/api-server.ts'
import { createContext } from '../../src/server/create-context.ts'
import { createLog, type Log } from '../../src/telemetry/log.ts'

type Line = { event: string; operation: string; mode: string; status: number; outcome: string }

let folder: string
let log: Log
let context: Context
let listeners: Record<'api' | 'admin', App>
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tabbat-access-log-'))
  log = createLog('info', openSync(join(folder, 'log'), 'w'))
  context = await createContext(loadConfig({ TABBAT_DATA_DIR: folder }, ''), log)
  const api = createApiServer(context)
  listeners = { api, admin: buildAdminServer(context, api) }
  for (const app of Object.values(listeners)) await app.listen({ host: '127.0.0.1', port: 0 })
})
afterAll(async () => {
  for (const app of Object.values(listeners)) await app.close()
  await context.close()
  rmSync(folder, { recursive: true })
})

/** The lines that this test caused. */
async function linesOf(work: () => Promise<unknown>): Promise<Line[]> {
  const read = () =>
    readFileSync(join(folder, 'log'), 'utf8')
      .split('\n')
      .filter((line) => line.includes('"event":"request"'))
      .map((line) => JSON.parse(line) as Line)
  const before = read().length
  await work()
  while (read().length === before) await new Promise((done) => setTimeout(done, 20))
  return read().slice(before)
}

describe.each([
  ['api', 'none'],
  ['admin', 'admin'],
] as const)('the %s listener logs and counts', (name, mode) => {
  const send = (bytes: string) => {
    const socket = connect((listeners[name].server.address() as AddressInfo).port, '127.0.0.1')
    socket.write(bytes)
    return text(socket)
  }

  it.each([
    [
      'a request',
      'GET /health/live HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n',
      'health',
      200,
      'ok',
    ],
    ['bytes that are not HTTP', 'NONSENSE\r\n\r\n', 'unknown', 400, 'malformed_request'],
    [
      'headers that are too long',
      `GET / HTTP/1.1\r\nHost: localhost\r\nX: ${'x'.repeat(9000)}\r\n\r\n`,
      'unknown',
      431,
      'headers_too_large',
    ],
    [
      'an unknown expectation',
      'GET / HTTP/1.1\r\nHost: localhost\r\nExpect: banana\r\n\r\n',
      'unknown',
      400,
      'malformed_request',
    ],
    ['CONNECT', 'CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n', 'unknown', 405, 'method_not_allowed'],
    ['a request without Host', 'GET / HTTP/1.1\r\n\r\n', 'unknown', 400, 'malformed_request'],
  ])('%s', async (_what, bytes, operation, status, outcome) => {
    const series = `tabbat_requests_total{operation="${operation}",mode="${mode}",outcome="${outcome}"}`
    const count = async () => {
      const line = (await context.metrics.print()).split('\n').find((each) => each.startsWith(series))
      return Number(line?.slice(series.length) ?? 0)
    }
    const before = await count()
    const lines = await linesOf(() => send(bytes))
    expect(lines).toMatchObject([{ operation, mode, status, outcome }])
    expect(await count()).toBe(before + 1)
  })

  it('a request whose body breaks off, once', async () => {
    const head = 'POST /admin/session HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n'
    const lines = await linesOf(() => send(`${head}zzz\r\n`))
    expect(lines).toHaveLength(1)
  })
})
