import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { loadConfig } from '../../src/context/config.ts'
import type { Context } from '../../src/context/context.ts'
import { SCOPES } from '../../src/contract/scope.ts'
import type { App } from '../../src/http/app.ts'
import { createKey } from '../../src/keys/manage.ts'
import { createApiServer } from '../../src/server/api-server.ts'
import { createContext } from '../../src/server/create-context.ts'
import { blusalt } from '../../src/simulator/blusalt.ts'
import { dojah } from '../../src/simulator/dojah.ts'
import { toPhoneCoreOf } from '../../src/simulator/people.ts'
import { openStandIn, type StandIn } from '../../src/simulator/stand-in.ts'
import { readSourceReports } from '../../src/sources/source-control.ts'
import { createLog } from '../../src/telemetry/log.ts'
import { bearer } from '../app.ts'
import { type InjectResponse, inject } from '../inject.ts'

/** Sources that hang, send Retry-After, or need the operator, on real sockets. */
const open: { close: () => unknown }[] = []
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close()
})

type Event = Record<string, string | number>
type SourcesServer = {
  readonly app: App
  readonly context: Context
  readonly events: Event[]
  readonly verify: (nin: string) => Promise<InjectResponse>
}

async function openServer(order: string, settings: Record<string, string>): Promise<SourcesServer> {
  const folder = mkdtempSync(join(tmpdir(), 'tabbat-unhealthy-'))
  const names = { TABBAT_NIN_SOURCES: order, TABBAT_BVN_SOURCES: order, TABBAT_DATA_DIR: folder }
  const events: Event[] = []
  const log = {
    ...createLog('silent'),
    event: (level: string, event: string, figures = {}) => void events.push({ level, event, ...figures }),
  }
  const context = await createContext(loadConfig({ ...names, ...settings }, ''), log)
  const app = createApiServer(context)
  const rights = { scopes: SCOPES, expiresAt: undefined, allowedIps: undefined }
  const deps = { ...context, keyring: context.keyring() }
  const { text: key } = await createKey(deps, { name: 'test', mode: 'live', ...rights })
  open.push({
    close: async () => {
      await app.close()
      await context.close()
      rmSync(folder, { recursive: true })
    },
  })
  const verify = (nin: string) =>
    inject(app, {
      method: 'POST',
      url: '/api/v2/kyc/verify-nin',
      headers: bearer(key),
      payload: { nin, phone: `0${toPhoneCoreOf(nin)}` },
    })
  return { app, context, events, verify }
}

async function openVendors(): Promise<[StandIn, StandIn]> {
  const both: [StandIn, StandIn] = [await openStandIn(dojah), await openStandIn(blusalt)]
  open.push(...both)
  return both
}

const readReady = async ({ app }: SourcesServer) =>
  (await inject(app, { method: 'GET', url: '/health/ready' })).json()

const listAttempts = async ({ context }: SourcesServer, reference: string) => {
  const [, outcome] = await context.store.audit.byReference(reference)
  return JSON.parse(outcome?.sources ?? '[]').map(
    ({ name, result }: { name: string; result: string }) => `${name} ${result}`,
  )
}

/** As the console and the command line read it from the store. */
const readWarnings = async ({ context }: SourcesServer) => {
  const reports = await readSourceReports(context.store, context.config)
  const report = reports.find(({ source, operation }) => source === 'dojah' && operation === 'verify_nin')
  return report?.figures?.warnings
}

describe('a source that hangs', () => {
  it('is hedged by the next source, and after three such calls it is not called', async () => {
    const [first, second] = await openVendors()
    const server = await openServer('dojah,blusalt', { ...first.settings, ...second.settings })
    first.fail('slow_headers')
    const attempts: string[][] = []
    for (const nin of ['12345678901', '12345678902', '12345678903', '12345678904']) {
      const answer = await server.verify(nin)
      expect(answer.json()).toMatchObject({ success: true })
      attempts.push(await listAttempts(server, answer.json().data.request_reference))
    }
    const hedged = ['dojah slow', 'blusalt found']
    expect(attempts).toEqual([hedged, hedged, hedged, ['dojah breaker_open', 'blusalt found']])
    expect(first.count()).toBe(3)
    expect((await readReady(server)).sources).toEqual({ dojah: 'degraded', blusalt: 'ok' })
    expect(server.events).toContainEqual(
      expect.objectContaining({ level: 'warn', event: 'source_breaker', reason: 'too_slow', state: 'open' }),
    )
  })
})

describe('a source that needs the operator', () => {
  it.each([
    ['no_funds', 'no_funds'],
    ['unauthorised', 'credentials_refused'],
  ] as const)('is reported everywhere from the first call (%s) until it answers', async (fault, reason) => {
    const [first, second] = await openVendors()
    const server = await openServer('dojah,blusalt', { ...first.settings, ...second.settings })
    expect(await readReady(server)).toMatchObject({ warnings: {} })
    first.fail(fault)
    for (const nin of ['12345678901', '12345678902']) expect((await server.verify(nin)).statusCode).toBe(200)
    expect(await readReady(server)).toMatchObject({
      status: 'ready',
      sources: { dojah: 'ok', blusalt: 'ok' },
      warnings: { dojah: [reason] },
    })
    const metrics = await server.context.metrics.print()
    expect(metrics).toContain(
      `tabbat_source_warning{source="dojah",operation="verify_nin",reason="${reason}"} 1`,
    )
    const problem = reason === 'no_funds' ? 'funds' : 'credentials'
    expect(metrics).toContain(
      `tabbat_source_failures_total{source="dojah",operation="verify_nin",reason="${problem}"} 2`,
    )
    await expect.poll(() => readWarnings(server)).toEqual([reason])
    first.fail(undefined)
    await server.verify('12345678903')
    expect(await readReady(server)).toMatchObject({ warnings: {} })
    const warnings = server.events.filter(({ event }) => event === 'source_warning')
    expect(warnings).toEqual(
      ['started', 'ended'].map((state) => ({
        level: 'warn',
        event: 'source_warning',
        source: 'dojah',
        operation: 'verify_nin',
        reason,
        state,
      })),
    )
  })

  it('is reported when it finds almost no records', async () => {
    const [first] = await openVendors()
    const server = await openServer('dojah', first.settings)
    for (let nin = 99_000_000_000; nin < 99_000_000_020; nin++)
      expect((await server.verify(String(nin))).statusCode).toBe(422)
    expect(await readReady(server)).toMatchObject({ warnings: { dojah: ['mostly_not_found'] } })
  })
})

describe('a vendor that answers with Retry-After', () => {
  it.each([
    [429, '120'],
    [503, '120'],
    [429, 'Wed, 21 Oct 2065 07:28:00 GMT'],
  ])('is not called again with %i and %s, and the caller gets Retry-After', async (status, retryAfter) => {
    let requests = 0
    const answer: RequestListener = (_request, response) => {
      requests += 1
      response.writeHead(status, { 'retry-after': retryAfter }).end('{"error":"x"}')
    }
    const vendor = createServer(answer).listen(0, '127.0.0.1')
    await once(vendor, 'listening')
    open.push(vendor)
    const { port } = vendor.address() as AddressInfo
    const server = await openServer('dojah', dojah.settings(`http://127.0.0.1:${port}`))
    for (const nin of ['12345678901', '12345678902']) {
      const reply = await server.verify(nin)
      expect([reply.statusCode, reply.json().code]).toEqual([503, 'source_unavailable'])
      expect(Number(reply.headers['retry-after'])).toBeGreaterThan(60)
      expect(Number(reply.headers['retry-after'])).toBeLessThanOrEqual(600)
    }
    expect(requests).toBe(1)
    expect(await readReady(server)).toMatchObject({ warnings: { dojah: ['throttled'] } })
  })
})
