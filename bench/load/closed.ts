import { randomUUID } from 'node:crypto'
import { connect } from 'node:net'
import { type RequestSpec, toBody } from './request-spec.ts'

/**
 * Callers that each send the next request when the last one is answered, and how long each answer took.
 * node bench/load/closed.ts '{"ports":[…],"spec":…,"callers":64,"seconds":2}' prints a Closed. With "requests" instead of
 * "seconds", it ends after so many.
 */
export type ClosedLoad = {
  /** Callers are spread over the servers. */
  readonly ports: readonly number[]
  readonly spec: Extract<RequestSpec, { method: 'POST' }>
  readonly callers: number
  readonly seconds?: number
  readonly requests?: number
}
export type Closed = {
  readonly requests: number
  readonly perSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** Answers that were not 200. */
  readonly bad: number
}

const { ports, spec, callers, seconds, requests } = JSON.parse(process.argv[2] ?? '') as ClosedLoad
const first = Math.floor(Math.random() * (spec.count || 5e10))
const times: number[] = []
const startedAt = performance.now()
const isOver = () =>
  requests === undefined ? performance.now() - startedAt > (seconds ?? 1) * 1000 : sent >= requests
let sent = 0
let bad = 0

function toRequest(port: number): string {
  const body = toBody(spec, first + sent++)
  const key = spec.isIdempotent ? `Idempotency-Key: ${randomUUID()}\r\n` : ''
  return `POST ${spec.path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: Bearer ${spec.key}\r\n${key}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
}

function isWhole(text: string): boolean {
  const headEnd = text.indexOf('\r\n\r\n')
  const length = /content-length: (\d+)/i.exec(text)?.[1]
  return headEnd >= 0 && text.length >= headEnd + 4 + Number(length)
}

function call(port: number): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const socket = connect(port, '127.0.0.1').setNoDelay().setEncoding('latin1')
  let received = ''
  let sentAt = performance.now()
  socket.write(toRequest(port))
  socket.on('data', (piece) => {
    received += piece
    if (!isWhole(received)) return
    times.push(performance.now() - sentAt)
    if (!received.startsWith('HTTP/1.1 200')) bad += 1
    received = ''
    if (isOver()) {
      socket.destroy()
      return resolve()
    }
    sentAt = performance.now()
    socket.write(toRequest(port))
  })
  socket.on('error', reject)
  socket.on('end', () => reject(new Error('the server closed a connection')))
  return promise
}

await Promise.all(Array.from({ length: callers }, (_each, index) => call(ports[index % ports.length] ?? 0)))
const sorted = times.toSorted((a, b) => a - b)
const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
const perSecond = (times.length * 1000) / (performance.now() - startedAt)
const result: Closed = { requests: times.length, perSecond, p50Ms: at(0.5), p99Ms: at(0.99), bad }
console.log(JSON.stringify(result))
