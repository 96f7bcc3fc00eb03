import { connect, type Socket } from 'node:net'
import { type RequestSpec, toBody } from './request-spec.ts'

/**
 * So many requests a second, whether the server keeps up or not, as in life. What a request waited because the ones before
 * it were slow counts too: its time runs from the moment at which it should have been sent.
 * node bench/load/paced.ts '{"port":…,"spec":…,"rate":500,"seconds":3}' prints {"p50Ms":…,"p99Ms":…,"count":…}
 */
export type Pace = {
  readonly port: number
  readonly spec: RequestSpec
  readonly rate: number
  readonly seconds: number
}
export type Paced = {
  readonly p50Ms: number
  readonly p99Ms: number
  readonly maxMs: number
  readonly count: number
  /** Answered by 503: the server was overloaded for a moment. */
  readonly refused: number
}

const WARM_UP_SECONDS = 0.5

const { port, spec, rate, seconds } = JSON.parse(process.argv[2] ?? '') as Pace
const idle: Connection[] = []
const times: number[] = []
const skipped = Math.round(rate * WARM_UP_SECONDS)
const total = skipped + rate * seconds
const firstNumber = Math.floor(Math.random() * 5e10)
const startedAt = performance.now() + 50
let sent = 0
let answered = 0
let refused = 0

type Connection = { readonly socket: Socket; index: number; received: string }

function open(): Connection {
  const socket = connect(port, '127.0.0.1').setNoDelay().setEncoding('latin1')
  const connection = { socket, index: 0, received: '' }
  socket.on('data', (piece) => read(connection, String(piece)))
  return connection
}

function read(connection: Connection, piece: string): void {
  connection.received += piece
  if (!isWhole(connection.received)) return
  const isRefused = connection.received.startsWith('HTTP/1.1 503')
  if (!isRefused && !connection.received.startsWith('HTTP/1.1 200'))
    throw new Error(connection.received.slice(0, 400))
  if (isRefused) refused += 1
  else if (connection.index >= skipped) times.push(performance.now() - toDueTime(connection.index))
  connection.received = ''
  idle.push(connection)
  if (++answered === total) finish()
}

const toDueTime = (index: number) => startedAt + (index * 1000) / rate

function isWhole(text: string): boolean {
  const headEnd = text.indexOf('\r\n\r\n')
  const length = /content-length: (\d+)/i.exec(text)?.[1]
  return headEnd >= 0 && text.length >= headEnd + 4 + Number(length)
}

/** Spins instead of sleeping: timers wake up to a millisecond late. The core is the client's own. */
function turn(): void {
  while (sent < total && performance.now() >= toDueTime(sent)) send(sent++)
  if (sent < total) setImmediate(turn)
}

function send(index: number): void {
  const connection = idle.pop() ?? open()
  connection.index = index
  connection.socket.write(toRequest(index))
}

function toRequest(index: number): string {
  const head = `${spec.method} ${spec.path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: Bearer ${spec.key}\r\n`
  if (spec.method === 'GET') return `${head}\r\n`
  const body = toBody(spec, firstNumber + index)
  return `${head}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
}

function finish(): void {
  const sorted = times.toSorted((a, b) => a - b)
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
  const result: Paced = { p50Ms: at(0.5), p99Ms: at(0.99), maxMs: at(1), count: sorted.length, refused }
  console.log(JSON.stringify(result))
  process.exit()
}

turn()
