import cluster from 'node:cluster'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'

/**
 * The limit: node:http alone, answering the bytes that Tabbat answers, with no key, no limit, no log and no audit.
 * node bench/bare.ts <port> <file> [processes]: the file holds the bodies by path, and under POST the one for every verification.
 */
const [port, file = '', processes = '1'] = process.argv.slice(2)
const bodies = new Map(
  Object.entries(JSON.parse(readFileSync(file, 'utf8')) as Record<string, string>).map(([path, body]) => {
    const bytes = Buffer.from(body)
    return [path, { bytes, head: toHead(bytes) }]
  }),
)
const verified = bodies.get('POST')

function toHead(bytes: Buffer) {
  return { 'content-type': 'application/json; charset=utf-8', 'content-length': bytes.length }
}

const server = createServer((request, response) => {
  if (request.method === 'POST') {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      JSON.parse((chunks.length === 1 ? chunks[0] : Buffer.concat(chunks))?.toString() ?? '')
      response.writeHead(200, verified?.head).end(verified?.bytes)
    })
    return
  }
  const body = bodies.get(request.url ?? '')
  response.writeHead(body ? 200 : 404, body?.head).end(body?.bytes)
})
const isParent = cluster.isPrimary && processes !== '1'
if (isParent) for (let count = 0; count < Number(processes); count++) cluster.fork()
else server.listen(Number(port), '127.0.0.1')
