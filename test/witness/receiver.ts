import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

type Line = { readonly time: string; readonly body: string; readonly signature: string }

/** A witness behind a webhook, as docs/audit-format.md describes it. It remembers what it got, also twice. */
export async function startReceiver(token?: string, pageSize = 2) {
  const received: Line[] = []
  const state = { status: 200, refused: 0, ignoresPosition: false }
  const server = createServer(async (request, response) => {
    const isKnown = token === undefined || request.headers.authorization === `Bearer ${token}`
    const url = new URL(request.url ?? '/', 'http://localhost')
    if (!isKnown || state.status !== 200) {
      state.refused += 1
      response.writeHead(isKnown ? state.status : 401).end()
    } else if (request.method === 'POST') {
      received.push(JSON.parse(await text(request)))
      response.end()
    } else {
      const from = state.ignoresPosition ? 0 : Number(url.searchParams.get('from'))
      response.end(JSON.stringify({ checkpoints: received.slice(from, from + pageSize) }))
    }
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const close = async () => {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  }
  return { url: `http://127.0.0.1:${port}/checkpoints`, received, state, close }
}
