import { duplexPair } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { ERRORS } from '../../../src/errors.ts'
import { SANDBOX_KEY } from '../../../src/keys/sandbox-key.ts'
import { openTestApp } from '../../app.ts'
import { NAMES, NUMBER, PHONE_CORE, type Target } from '../target.ts'

const BODY = JSON.stringify({
  ...{ nin: NUMBER, phone: `0${PHONE_CORE}`, first_name: NAMES[0], last_name: NAMES[1] },
  date_of_birth: '1990-01-05',
})
const KNOWN = new Set([200, 204, 304, ...Object.values(ERRORS).map(({ status }) => status)])
const MAX_WAIT_MS = 1000

/** The bytes of one connection, as they come from the network. */
export async function openHttpTarget(): Promise<Target> {
  const { app, close } = await openTestApp({ TABBAT_RATE_LIMIT: 'off' })
  const talk = async (input: Buffer): Promise<Buffer> => {
    const [client, server] = duplexPair()
    app.server.emit('connection', Object.assign(server, { remoteAddress: '127.0.0.1' }))
    const answered = buffer(client)
    client.end(input)
    // A request that is not complete keeps its connection.
    const timer = setTimeout(() => client.destroy(), MAX_WAIT_MS)
    return answered.catch(() => Buffer.alloc(0)).finally(() => clearTimeout(timer))
  }
  return {
    seeds: SEEDS.map((text) => Buffer.from(text)),
    words: WORDS,
    run: async (input) => checkResponses((await talk(input)).toString('latin1'), input.toString('latin1')),
    close,
  }
}

const toRequest = (line: string, headers: string, body = '') =>
  `${line} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAuthorization: Bearer ${SANDBOX_KEY}\r\n${headers}${body && `Content-Length: ${body.length}\r\n`}\r\n${body}`

const JSON_TYPE = 'Content-Type: application/json\r\n'
const SEEDS = [
  toRequest('POST /api/v2/kyc/verify-nin', JSON_TYPE, BODY),
  toRequest(
    'POST /api/v2/kyc/verify-bvn',
    `${JSON_TYPE}Idempotency-Key: fuzz\r\nX-Consent-Reference: c\r\n`,
    BODY.replace('nin', 'bvn').replace('{', '{"amount":"1",'),
  ),
  toRequest('POST /api/v2/kyc/verify-nin', `${JSON_TYPE}Prefer: respond-async, wait=1\r\n`, BODY),
  toRequest('POST /api/v2/kyc/batches', 'Content-Type: text/csv\r\n', 'operation,nin,phone\n'),
  toRequest('GET /api/v2/cable-tv/fetch-tv-add-ons?type=DSTV&productCode=abc', ''),
  toRequest('QUERY /api/v2/cable-tv/fetch-tv-add-ons', JSON_TYPE, '{"type":"DSTV","productCode":"abc"}'),
  toRequest('GET /api/v2/internet/data/smile/lookup', 'If-None-Match: "x"\r\n'),
  toRequest('GET /api/v2/kyc/verifications/ver_fuzz', ''),
  toRequest('DELETE /api/v2/kyc/batches/bat_fuzz', ''),
  toRequest('GET /health/ready?strict', ''),
  `POST /api/v2/kyc/verify-nin HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nAuthorization: ${SANDBOX_KEY}\r\n\r\n5\r\n{"nin\r\n0\r\n\r\n`,
]
const WORDS = [
  ...[
    'Transfer-Encoding: chunked\r\n',
    'Content-Encoding: gzip\r\n',
    'Expect: 100-continue\r\n',
    'charset=utf-16',
  ],
  ...[
    'Content-Length: 5\r\n',
    'X-Purpose: loan\r\n',
    'X-Forwarded-For: 1\r\n',
    'traceparent: 00-',
    'X-Request-Id: ',
  ],
  ...[
    '/openapi.json',
    '/docs',
    '/metrics',
    '/media/',
    '%00',
    '%2e%2e/',
    '\r\n\r\n',
    '00000000202',
    '00000000503',
  ],
]

/** Every response is one of the documented ones, and an error repeats nothing of the person. */
function checkResponses(output: string, input: string): void {
  for (const response of output.split(/(?=HTTP\/1\.1 \d{3} )/)) {
    if (response === '') continue
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(response)?.[1])
    // A body may contain what looks like the start of a response.
    if (!(status > 0)) continue
    if (status === 100) continue
    if (!KNOWN.has(status)) throw new Error(`status ${status} is not documented`)
    if (status === ERRORS.internal_error.status) throw new Error('an internal error')
    if (status >= 400) checkError(response, input)
  }
}

function checkError(response: string, input: string): void {
  const body = response.slice(response.indexOf('\r\n\r\n') + 4)
  for (const secret of [NUMBER, PHONE_CORE, ...NAMES, SANDBOX_KEY])
    if (input.includes(secret) && response.includes(secret))
      throw new Error('an error repeats personal data or the key')
  if (body.startsWith('{') && response.includes('application/json')) JSON.parse(body)
}
