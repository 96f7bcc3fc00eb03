import { createServer, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { Agent, request } from 'undici'
import { FIRST_NIN, toPhoneCore } from './load/request-spec.ts'

/**
 * A vendor that knows the people of the bench, and the control: the least that a proxy to it must do, without key, limit, log or audit.
 * node bench/vendor.ts vendor <port> <milliseconds that an answer takes>   GET /delay?ms=200 changes them
 * node bench/vendor.ts proxy <port> <port of the vendor>
 */
const [role, port = '', given = ''] = process.argv.slice(2)
const PATH = '/api/v1/kyc/nin/advance'

const toPhone = (nin: number) => (nin < 2 * FIRST_NIN ? `0${toPhoneCore(nin - FIRST_NIN)}` : '08031234567')

const toReply = (nin: string) =>
  JSON.stringify({
    entity: {
      nin,
      first_name: 'ADAEZE',
      last_name: 'OKONKWO',
      middle_name: 'NGOZI',
      date_of_birth: '14-03-1990',
      phone_number: toPhone(Number(nin)),
      gender: 'Female',
      marital_status: 'single',
      birth_country: 'nigeria',
      birth_state: 'Enugu',
      residence_address_line_1: '12 Market Road',
      residence_state: 'Lagos',
      reference: `bench-${nin.slice(-4)}`,
    },
  })

function send(response: ServerResponse, body: string): void {
  const head = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
  response.writeHead(200, head).end(body)
}

let delayMs = Number(given)
const vendor = createServer((incoming, response) => {
  const { pathname, searchParams } = new URL(incoming.url ?? '', 'http://vendor')
  if (pathname === '/delay') {
    delayMs = Number(searchParams.get('ms'))
    return send(response, '{}')
  }
  const nin = searchParams.get('nin') ?? ''
  if (delayMs === 0) send(response, toReply(nin))
  else setTimeout(() => send(response, toReply(nin)), delayMs)
})

const agent = new Agent({ connections: 1024, pipelining: 1 })
const proxy = createServer(async (incoming, response) => {
  if (incoming.method !== 'POST') return send(response, '{}')
  const { nin } = JSON.parse(await text(incoming)) as { nin: string }
  const reply = await request(`http://127.0.0.1:${given}${PATH}?nin=${nin}`, { dispatcher: agent })
  const { entity } = (await reply.body.json()) as { entity: object }
  send(response, JSON.stringify({ status: true, data: entity }))
})

// Every caller keeps its connection.
for (const server of [vendor, proxy]) server.keepAliveTimeout = 60_000
const served = role === 'vendor' ? vendor : proxy
served.listen(Number(port), '127.0.0.1')
