import { randomInt } from 'node:crypto'
import { connect, type Socket } from 'node:net'
import { SANDBOX_KEY } from '../../src/keys/sandbox-key.ts'

/**
 * Clients of verify-nin, as cheap as possible: raw sockets, prepared bytes, one process.
 * node test/battery/overload-load.ts '{"port":…,"connections":320,"rate":0,"seconds":5}' prints its counts as JSON.
 */
export type Load = {
  readonly port: number
  /** Maximum at one time. */
  readonly connections: number
  /** Requests a second, sent whether or not earlier ones are answered. 0: each connection sends as fast as it is answered. */
  readonly rate: number
  readonly seconds: number
}

export type Latency = { readonly p50: number; readonly p99: number; readonly most: number }

export type Loaded = {
  readonly sent: number
  readonly good: number
  readonly shed: number
  /** Other answers. */
  readonly other: number
  /** Not answered within the client's timeout. */
  readonly late: number
  readonly broken: number
  /** Due while every connection was busy: never sent. */
  readonly unsent: number
  readonly seconds: number
  readonly goodMs: Latency
  readonly shedMs: Latency
}

/**
 * All clients connect first and start sending at the same time: a busy Node.js accepts one connection per turn of its event
 * loop, which is not what is measured. The first second is not counted.
 */
const CONNECT_MS = 2000
const RAMP_MS = CONNECT_MS + 1000
/** Client timeout; then it reconnects. */
const PATIENCE_MS = 2000
const BODIES = 4096

type Caller = { readonly socket: Socket; sentAt: number; busy: boolean }

if (import.meta.main) run(JSON.parse(process.argv[2] ?? '') as Load)

function run({ port, connections, rate, seconds }: Load): void {
  const requests = makeRequests(port)
  const counts = { sent: 0, good: 0, shed: 0, other: 0, late: 0, broken: 0, unsent: 0 }
  const [goodMs, shedMs]: [number[], number[]] = [[], []]
  const callers = new Set<Caller>()
  const idle: Caller[] = []
  const isClosedLoop = rate === 0
  let ending = false

  const send = (caller: Caller, dueAt: number) => {
    caller.sentAt = dueAt
    caller.busy = true
    caller.socket.write(requests[counts.sent++ % BODIES] as Buffer)
  }
  const take = (caller: Caller, size: number, buffer: Uint8Array) => {
    if (size < 12 || !caller.busy || buffer[0] !== 72) return
    const now = performance.now()
    caller.busy = false
    const status =
      ((buffer[9] as number) - 48) * 100 + (buffer[10] as number) * 10 + (buffer[11] as number) - 528
    if (status === 200) {
      counts.good += 1
      goodMs.push(now - caller.sentAt)
    } else if (status === 503) {
      counts.shed += 1
      shedMs.push(now - caller.sentAt)
    } else counts.other += 1
    if (ending) return
    if (isClosedLoop) send(caller, now)
    else idle.push(caller)
  }
  const open = () => {
    const buffer = Buffer.allocUnsafe(16_384)
    const callback = (size: number, bytes: Uint8Array) => {
      take(caller, size, bytes)
      return true
    }
    const socket = connect({ port, host: '127.0.0.1', noDelay: true, onread: { buffer, callback } })
    const caller: Caller = { socket, sentAt: 0, busy: false }
    callers.add(caller)
    socket.on('error', () => {})
    socket.on('close', () => {
      if (caller.busy) counts.broken += 1
      caller.busy = false
      callers.delete(caller)
      if (!ending && isClosedLoop) setTimeout(open, 10)
    })
    socket.once('connect', () => {
      if (isClosedLoop) setTimeout(begin, beginsAt - performance.now(), caller)
      else idle.push(caller)
    })
  }
  const begin = (caller: Caller) => {
    if (!caller.socket.destroyed) send(caller, performance.now())
  }
  const giveUp = () => {
    const before = performance.now() - PATIENCE_MS
    for (const caller of callers)
      if (caller.busy && caller.sentAt < before) {
        counts.late += 1
        caller.busy = false
        caller.socket.destroy()
      }
  }

  const startedAt = performance.now()
  const beginsAt = startedAt + CONNECT_MS
  for (let index = 0; index < connections; index++) open()
  setInterval(giveUp, 100)
  const endsAt = startedAt + RAMP_MS + seconds * 1000
  setTimeout(() => {
    Object.assign(counts, { sent: 0, good: 0, shed: 0, other: 0, late: 0, broken: 0, unsent: 0 })
    goodMs.length = shedMs.length = 0
  }, RAMP_MS)
  let due = 0
  const sendDue = (dueAt: number) => {
    let caller = idle.pop()
    while (caller?.socket.destroyed) caller = idle.pop()
    if (caller) return send(caller, dueAt)
    counts.unsent += 1
    if (callers.size < connections) open()
  }
  const turn = () => {
    const now = performance.now()
    for (; !isClosedLoop && beginsAt + (due * 1000) / rate <= now; due++)
      sendDue(beginsAt + (due * 1000) / rate)
    if (now >= endsAt) finish()
    else setTimeout(turn, 1)
  }
  const finish = () => {
    ending = true
    giveUp()
    const taken = (performance.now() - startedAt - RAMP_MS) / 1000
    const result: Loaded = { ...counts, seconds: taken, goodMs: toLatency(goodMs), shedMs: toLatency(shedMs) }
    process.stdout.write(`${JSON.stringify(result)}\n`, () => process.exit())
  }
  turn()
}

function makeRequests(port: number): Buffer[] {
  const first = 20_000_000_000 + randomInt(50_000_000) * 1000
  return Array.from({ length: BODIES }, (_each, index) => {
    const body = JSON.stringify({ nin: String(first + index), phone: '08031234567' })
    const head = `POST /api/v2/kyc/verify-nin HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: Bearer ${SANDBOX_KEY}\r\n`
    return Buffer.from(
      `${head}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    )
  })
}

function toLatency(times: number[]): Latency {
  const sorted = Float64Array.from(times).sort()
  const at = (share: number) =>
    Math.round((sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0) * 10) / 10
  return { p50: at(0.5), p99: at(0.99), most: at(1) }
}
