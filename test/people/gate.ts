import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'

/** A proxy in front of a simulated vendor that can hold requests. */
type Gate = {
  readonly url: string
  /** Holds the requests from now on until the returned function is called. `arrived` resolves with the first of them. */
  readonly hold: () => { readonly arrived: Promise<void>; readonly letGo: () => void }
  readonly close: () => Promise<void>
}

export async function openGate(target: string): Promise<Gate> {
  let held: Promise<void> | undefined
  let announce = () => {}
  const server = createServer(async (request, response) => {
    const body = await buffer(request)
    announce()
    await held
    const { host: _host, connection: _connection, 'content-length': _length, ...headers } = request.headers
    const answer = await fetch(`${target}${request.url}`, {
      method: request.method ?? 'GET',
      headers: headers as Record<string, string>,
      ...(body.length > 0 && { body }),
    })
    response
      .writeHead(answer.status, { 'content-type': 'application/json' })
      .end(Buffer.from(await answer.arrayBuffer()))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    hold: () => {
      const { promise, resolve } = Promise.withResolvers<void>()
      const arrival = Promise.withResolvers<void>()
      held = promise
      announce = arrival.resolve
      return {
        arrived: arrival.promise,
        letGo: () => {
          held = undefined
          resolve()
        },
      }
    },
    close: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
