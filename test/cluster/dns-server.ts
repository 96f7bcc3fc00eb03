import { createSocket } from 'node:dgram'
import { once } from 'node:events'

/** A DNS server on loopback that knows no name until `know` is called, and then says that every name is 127.0.0.1. */
type DnsServer = {
  readonly address: string
  /** How many questions have come. */
  readonly count: () => number
  readonly know: () => void
  readonly close: () => void
}

const HEADER_BYTES = 12
const RESPONSE = 0x8180
const NAME_ERROR = 3
const TYPE_A = 1
/** A pointer to the name of the question, type A, class IN, 1 second, 127.0.0.1. */
const LOOPBACK = Buffer.from('c00c000100010000000100047f000001', 'hex')

export async function startDnsServer(): Promise<DnsServer> {
  let isKnown = false
  let count = 0
  const socket = createSocket('udp4')
  socket.on('message', (message, { port, address }) => {
    count++
    const end = message.indexOf(0, HEADER_BYTES) + 5
    const isAnswered = isKnown && message.readUInt16BE(end - 4) === TYPE_A
    const header = Buffer.from(message.subarray(0, HEADER_BYTES))
    header.writeUInt16BE(isKnown ? RESPONSE : RESPONSE | NAME_ERROR, 2)
    header.writeUInt16BE(Number(isAnswered), 6)
    // No further records, such as the one of EDNS in the question.
    header.writeUInt32BE(0, 8)
    const question = message.subarray(HEADER_BYTES, end)
    socket.send(Buffer.concat([header, question, ...(isAnswered ? [LOOPBACK] : [])]), port, address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  return {
    address: `127.0.0.1:${socket.address().port}`,
    count: () => count,
    know: () => {
      isKnown = true
    },
    close: () => void socket.close(),
  }
}
