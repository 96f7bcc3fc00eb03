import { once } from 'node:events'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { bearer, type TestApp } from '../app.ts'

/** Plain sockets, for requests that no HTTP client sends. */
export const portOf = ({ app }: TestApp) => (app.server.address() as AddressInfo).port

export async function open(server: TestApp): Promise<Socket> {
  const socket = connect({ port: portOf(server), host: '127.0.0.1', allowHalfOpen: true })
  socket.on('error', () => {})
  await once(socket, 'connect')
  return socket
}

export const { authorization: AUTHORIZATION } = bearer()

export const toHead = (line: string, ...headers: string[]) =>
  `${[`${line} HTTP/1.1`, 'Host: localhost', `Authorization: ${AUTHORIZATION}`, ...headers].join('\r\n')}\r\n\r\n`

/** Reads until this many responses have arrived, or the server has closed the connection. */
export function readAnswers(socket: Socket, count: number): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>()
  let received = ''
  const look = () => {
    const heads = received.match(/HTTP\/1\.1 \d/g)?.length ?? 0
    if (heads >= count && received.trimEnd().endsWith('}')) resolve(received)
  }
  socket.on('data', (piece) => {
    received += piece
    look()
  })
  socket.on('close', () => resolve(received))
  socket.on('end', () => resolve(received))
  return promise
}

export const statusesIn = (answers: string) =>
  [...answers.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, code]) => Number(code))
