// Receives webhooks of Tabbat. Run it with: WEBHOOK_SECRET=whsec_… PORT=3000 node receiver.ts
import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'

const key = Buffer.from((process.env.WEBHOOK_SECRET ?? '').replace(/^whsec_/, ''), 'base64')
// With an empty key, everyone could sign.
if (key.length === 0) throw new Error('Set WEBHOOK_SECRET to the secret of the endpoint (whsec_…).')
const TOLERANCE_S = 300

function isGenuine(headers: IncomingHttpHeaders, body: Buffer): boolean {
  const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures } = headers
  const ageS = Math.abs(Date.now() / 1000 - Number(timestamp))
  if (Number.isNaN(ageS) || ageS > TOLERANCE_S) return false
  const expected = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest()
  // After a roll there are two signatures, separated by a space.
  return String(signatures)
    .split(' ')
    .filter((signature) => signature.startsWith('v1,'))
    .map((signature) => Buffer.from(signature.slice(3), 'base64'))
    .some((given) => given.length === expected.length && timingSafeEqual(given, expected))
}

/** Undefined when the sender breaks off: the webhook will be sent again. */
async function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  const pieces: Buffer[] = []
  try {
    for await (const piece of request) pieces.push(piece)
  } catch {
    return undefined
  }
  return Buffer.concat(pieces)
}

/** In production, a table with a unique column: an event may arrive more than once. */
const seen = new Set<unknown>()

const server = createServer(async (request, response) => {
  // The signature is over these bytes: do not parse and print the body before.
  const body = await readBody(request)
  if (!body) return void response.writeHead(400).end()
  if (!isGenuine(request.headers, body)) return void response.writeHead(401).end()
  if (!seen.has(request.headers['webhook-id'])) {
    seen.add(request.headers['webhook-id'])
    const { type, data } = JSON.parse(body.toString())
    process.stdout.write(`${type} ${data.reference} ${data.status}\n`)
  }
  response.writeHead(204).end()
})
server.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', () => {
  process.stdout.write(`ready ${JSON.stringify(server.address())}\n`)
})
