import { once } from 'node:events'
import { request } from 'node:http'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { exportRows } from '../../src/audit/export.ts'
import { type App, createApp } from '../../src/http/app.ts'
import { createFail } from '../../src/http/failures.ts'
import type { AuditRow } from '../../src/store/audit-row.ts'
import { createLog } from '../../src/telemetry/log.ts'

const PIECE = 'a piece of it\n'.repeat(10_000)
let app: App
let url: string
/** What was told, and what was made. */
let failures: unknown[] = []
let made = 0
let cleanUp: PromiseWithResolvers<void>

async function* makePieces(count: number): AsyncIterable<string> {
  try {
    for (made = 0; made < count; made++) yield PIECE
  } finally {
    cleanUp.resolve()
  }
}

async function* breakOff(): AsyncIterable<string> {
  yield PIECE
  throw new Error('the database is away')
}

beforeAll(async () => {
  const fail = createFail(createLog('silent'), () => {})
  app = createApp({
    begin: () => {
      failures = []
      made = 0
      cleanUp = Promise.withResolvers()
    },
    admit: () => undefined,
    fail: (exchange, thrown) => {
      failures.push(thrown)
      return fail(exchange, thrown)
    },
    isLast: () => false,
  })
  const add = (path: string, toBody: () => AsyncIterable<string>) =>
    app.route({
      methods: ['GET'],
      path,
      operation: 'stream',
      answer: () => ({ status: 200, headers: [], body: toBody() }),
    })
  add('/short', () => makePieces(3))
  add('/endless', () => makePieces(Number.POSITIVE_INFINITY))
  add('/broken', breakOff)
  url = await app.listen({ host: '127.0.0.1', port: 0 })
})
afterAll(async () => {
  app.server.closeAllConnections()
  await app.close()
})

it('a stream is sent whole', async () => {
  expect(await (await fetch(`${url}/short`)).text()).toBe(PIECE.repeat(3))
})

it('the head of a stream is answered without making the stream', async () => {
  const asked = request(`${url}/short`, { method: 'HEAD' }).end()
  const [response] = await once(asked, 'response')
  expect([response.statusCode, await text(response)]).toEqual([200, ''])
  expect(made).toBe(0)
})

it('a stream that breaks is told to the one place for failures, and cannot be taken for a whole one', async () => {
  const answer = await fetch(`${url}/broken`)
  await expect(answer.text()).rejects.toThrow('terminated')
  expect(failures).toEqual([expect.objectContaining({ message: 'the database is away' })])
})

/** Reads the first bytes and then nothing more. */
async function stall() {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.write('GET /endless HTTP/1.1\r\nHost: x\r\n\r\n')
  await once(socket, 'readable')
  return socket
}

it('whoever goes away in the middle is no failure', async () => {
  const socket = await stall()
  socket.destroy()
  await cleanUp.promise
  expect(failures).toEqual([])
})

it('a reader who stands still can be cut off', async () => {
  const socket = await stall()
  app.cutStreams()
  await cleanUp.promise
  socket.resume().on('error', () => {})
  await once(socket, 'close')
  expect(failures).toEqual([])
})

it('an export lets others have their turn, however fast it is read', async () => {
  const row = { chain: 'a', previous_hash: new Uint8Array(1), hash: new Uint8Array(1) }
  const table = {
    chains: async () => [{ chain: 'a', owner: null, beatAt: 0 }] as never,
    page: async (_chain: string, after: number) =>
      after < 3 ? [{ ...row, sequence: after + 1 } as unknown as AuditRow] : [],
  }
  let turns = 0
  const count = () => {
    turns += 1
    next = setImmediate(count)
  }
  let next = setImmediate(count)
  const turnsAt: number[] = []
  for await (const _line of exportRows(table)) turnsAt.push(turns)
  clearImmediate(next)
  expect(new Set(turnsAt).size).toBe(3)
})
