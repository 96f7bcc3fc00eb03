// Keeps the checkpoints of the audit log on another machine than Tabbat. Run it with:
// WEBHOOK_SECRET=whsec_… PORT=3000 CHECKPOINT_FILE=checkpoints.ndjson node checkpoint-receiver.mjs
import { createHmac, timingSafeEqual } from 'node:crypto'
import { appendFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { buffer } from 'node:stream/consumers'

const { WEBHOOK_SECRET = '', PORT = '3000', CHECKPOINT_FILE = 'checkpoints.ndjson' } = process.env
const key = Buffer.from(WEBHOOK_SECRET.replace(/^whsec_/, ''), 'base64')
// With an empty key, everyone could sign.
if (key.length === 0) throw new Error('Set WEBHOOK_SECRET to the secret of the endpoint (whsec_…).')

async function receive(request) {
  const body = await buffer(request)
  const {
    'webhook-id': id,
    'webhook-timestamp': sentAt,
    'webhook-signature': signatures = '',
  } = request.headers
  const expected = createHmac('sha256', key).update(`${id}.${sentAt}.`).update(body).digest()
  // After a roll there are two signatures, separated by a space.
  const given = signatures.split(' ').map((each) => Buffer.from(each.replace(/^v1,/, ''), 'base64'))
  const isSigned = given.some((each) => each.length === expected.length && timingSafeEqual(each, expected))
  if (!isSigned || !(Math.abs(Date.now() / 1000 - sentAt) <= 300)) return 401
  // On the disk before the answer: what was answered with 204 is not sent again.
  if (JSON.parse(body).type === 'audit.checkpoint')
    appendFileSync(CHECKPOINT_FILE, `${body}\n`, { flush: true })
  return 204
}

const server = createServer(async (request, response) => {
  response.writeHead(await receive(request).catch(() => 500)).end()
})
server.listen(Number(PORT), '127.0.0.1', () =>
  process.stdout.write(`ready on port ${server.address().port}\n`),
)
