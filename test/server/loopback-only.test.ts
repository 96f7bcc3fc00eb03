import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { networkInterfaces } from 'node:os'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'

/** An address of this machine that is not loopback: what is sent there would leave the process on any machine. */
const outside = Object.values(networkInterfaces())
  .flat()
  .find((each) => each?.family === 'IPv4' && !each.internal)?.address

/** The ways in which a library may open a connection. Each prints the code of its failure, or "open". */
const WAYS = {
  'net.connect(options)': (host: string, port: number) => `
    net.connect({ host: '${host}', port: ${port} })`,
  'net.connect(port, host)': (host: string, port: number) => `net.connect(${port}, '${host}')`,
  'new Socket().connect(port, host)': (host: string, port: number) =>
    `new net.Socket().connect(${port}, '${host}')`,
  'tls.connect': (host: string, port: number) => `tls.connect(${port}, '${host}')`,
  'http.get': (host: string, port: number) => `http.get('http://${host}:${port}/')`,
  'https.get': (host: string, port: number) => `https.get('https://${host}:${port}/')`,
}

const run = promisify(execFile)

async function tryConnection(way: string, isGuarded: boolean): Promise<string> {
  const script = `
    import net from 'node:net'; import tls from 'node:tls'; import http from 'node:http'; import https from 'node:https'
    import { refuseOtherMachines } from './src/server/loopback-only.ts'
    if (${isGuarded}) refuseOtherMachines()
    const end = (word) => { console.log(word); process.exit() }
    const opened = ${way}
    opened.on('error', (error) => end(error.code)).on('connect', () => end('open')).on('response', () => end('open'))`
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', script])
  return stdout.trim()
}

async function withListener<T>(work: (port: number, count: () => number) => Promise<T>): Promise<T> {
  let connections = 0
  const server = createServer((_request, response) => response.end('here'))
  server.on('connection', () => {
    connections += 1
  })
  await once(server.listen(0, '0.0.0.0'), 'listening')
  try {
    return await work((server.address() as AddressInfo).port, () => connections)
  } finally {
    server.closeAllConnections()
    server.close()
  }
}

describe.skipIf(outside === undefined)('TABBAT_LOOPBACK_ONLY', () => {
  const host = outside ?? ''

  for (const [name, toWay] of Object.entries(WAYS))
    it(`refuses ${name} to an address that is not loopback, and nothing arrives there`, () =>
      withListener(async (port, count) => {
        expect(await tryConnection(toWay(host, port), true)).toBe('ENETUNREACH')
        expect(count()).toBe(0)
        // Without it, the same call arrives: this test can fail.
        await tryConnection(toWay(host, port), false)
        expect(count()).toBeGreaterThan(0)
      }))

  it('refuses a name without looking it up, fetch included', async () => {
    const way = `{ on(event, done) {
      if (event === 'error') fetch('http://tabbat.invalid/').catch((error) => done(error.cause))
      return this } }`
    expect(await tryConnection(way, true)).toBe('ENETUNREACH')
    expect(await tryConnection(way, false)).toMatch(/ENOTFOUND|EAI_AGAIN/)
  })

  it('lets connections to this machine pass', () =>
    withListener(async (port) => {
      for (const here of ['127.0.0.1', 'localhost'])
        expect(await tryConnection(`http.get('http://${here}:${port}/')`, true)).toBe('open')
      expect(await tryConnection(`net.connect(${port})`, true)).toBe('open')
    }))
})
