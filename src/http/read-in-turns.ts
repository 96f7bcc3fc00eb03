import type { Socket } from 'node:net'

/** Ends the head of a request. The last chunk of a body ends so, too. */
const HEAD_END = Buffer.from('\r\n\r\n')

export type Reading = {
  /** The connection owes too much: what its caller sends waits. */
  readonly isHeld: () => boolean
  /** To be called when it may owe less. */
  readonly goOn: () => void
}

/**
 * Gives the parser of Node.js one request at a time until `isFull`, and puts the rest back. Node.js stops reading a caller that
 * does not read its responses, but only between two reads: it would begin all requests in a read of 64 KiB, thousands, in one
 * turn of the event loop, and keep their responses. A held connection goes on in another turn, when it is no longer full.
 */
export function readInTurns(socket: Socket, isFull: () => boolean): Reading {
  const [parse] = socket.listeners('data')
  if (!parse) throw new Error('the connection has no parser')
  let isHeld = false
  /** Node.js pauses it, too: for a body whose reader is slow. It also resumes it, and then the bytes are put back again. */
  const mustWait = () => {
    isHeld ||= isFull()
    if (isHeld) socket.pause()
    return socket.isPaused()
  }
  const onData = (bytes: Buffer) => {
    let rest = bytes
    do {
      if (mustWait()) return void socket.unshift(rest)
      const end = findEnd(rest)
      parse.call(socket, rest.subarray(0, end))
      rest = rest.subarray(end)
      // After CONNECT, or bytes that are not HTTP, nothing more is parsed.
    } while (rest.length > 0 && socket.listenerCount('data', onData) > 0)
  }
  socket.removeListener('data', parse as typeof onData)
  socket.on('data', onData)
  let isResuming = false
  const resume = () => {
    isResuming = false
    if (isFull()) return
    isHeld = false
    socket.resume()
  }
  const goOn = () => {
    if (!isHeld || isResuming || isFull()) return
    isResuming = true
    setImmediate(resume)
  }
  socket.on('drain', goOn)
  return { isHeld: () => isHeld, goOn }
}

/** The end of the first request, or of its head if others follow. The end of the bytes if they hold no second head. */
function findEnd(bytes: Buffer): number {
  const end = bytes.indexOf(HEAD_END)
  if (end === -1) return bytes.length
  const next = end + HEAD_END.length
  return bytes.indexOf(HEAD_END, next) === -1 ? bytes.length : next
}
