import { once } from 'node:events'
import { request } from 'node:http'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { exportRows } from '../../src/audit/export.ts'
import { type App, createApp } from '../../src/http/app.ts'
import { createToErrorReply } from '../../src/http/send.ts'
import type { LoggedRow } from '../../src/ledger/audit-row.ts'
import { createLog } from '../../src/telemetry/log.ts'

const PIECE = 'a piece of it\n'.repeat(10_000)
let app: App
let url: string
/** Errors that were reported, and pieces that were created. */
let failures: unknown[] = []
let created = 0
let cleanUp: PromiseWithResolvers<void>

async function* createPieces(count: number): AsyncIterable<string> {
  try {
    for (created = 0; created < count; created++) yield PIECE
  } finally {
    cleanUp.resolve()
  }
}

async function* breakOff(): AsyncIterable<string> {
  yield PIECE
  throw new Error('the database is unavailable')
}

beforeAll(async () => {
  const fail = createToErrorReply(createLog('silent'), () => {})
  app = createApp({
    onRequest: () => {
      failures = []
      created = 0
      cleanUp = Promise.withResolvers()
    },
    toErrorReply: (exchange, thrown) => {
      failures.push(thrown)
      return fail(exchange, thrown)
    },
    isStopping: () => false,
  })
  const add = (path: string, toBody: () => AsyncIterable<string>) =>
    app.route({
      methods: ['GET'],
      path,
      operation: 'stream',
      answer: () => ({ status: 200, headers: [], body: toBody() }),
    })
  add('/short', () => createPieces(3))
  add('/endless', () => createPieces(Number.POSITIVE_INFINITY))
  add('/broken', breakOff)
  url = await app.listen({ host: '127.0.0.1', port: 0 })
})
afterAll(async () => {
  app.server.closeAllConnections()
  await app.close()
})

it('a stream is sent completely', async () => {
  expect(await (await fetch(`${url}/short`)).text()).toBe(PIECE.repeat(3))
})

it('HEAD of a stream does not create the stream', async () => {
  const asked = request(`${url}/short`, { method: 'HEAD' }).end()
  const [response] = await once(asked, 'response')
  expect([response.statusCode, await text(response)]).toEqual([200, ''])
  expect(created).toBe(0)
})

it('an error in a stream is reported, and the client sees an incomplete response', async () => {
  const answer = await fetch(`${url}/broken`)
  await expect(answer.text()).rejects.toThrow('terminated')
  expect(failures).toEqual([expect.objectContaining({ message: 'the database is unavailable' })])
})

/** Reads the first bytes, then stops reading. */
async function stall() {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.write('GET /endless HTTP/1.1\r\nHost: x\r\n\r\n')
  await once(socket, 'readable')
  return socket
}

it('a client that disconnects is not an error', async () => {
  const socket = await stall()
  socket.destroy()
  await cleanUp.promise
  expect(failures).toEqual([])
})

it('a stalled client can be disconnected', async () => {
  const socket = await stall()
  app.cutStreams()
  await cleanUp.promise
  socket.resume().on('error', () => {})
  await once(socket, 'close')
  expect(failures).toEqual([])
})

it('an export does not block other requests', async () => {
  const row = { chain: 'a', previous_hash: new Uint8Array(1), hash: new Uint8Array(1) }
  const table = {
    chains: async () => [{ chain: 'a', owner: null, beatAt: 0 }] as never,
    page: async (_chain: string, after: number) =>
      after < 3 ? [{ ...row, sequence: after + 1 } as unknown as LoggedRow] : [],
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
