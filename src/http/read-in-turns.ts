import type { Socket } from 'node:net'

/** Ends the head of a request. The last chunk of a body ends so, too. */
const HEAD_END = Buffer.from('\r\n\r\n')
const [CR, LF] = [13, 10]
/** A body may consist of empty lines. In smaller pieces, a megabyte of them would take the parser a second. */
const MIN_OF_BODY = 512

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
export function readInTurns(
  socket: Socket,
  isFull: (next?: Buffer) => boolean,
  isInBody: () => boolean,
): Reading {
  const [parse] = socket.listeners('data')
  if (!parse) throw new Error('the connection has no parser')
  let isHeld = false
  /** Node.js pauses it, too: for a body whose reader is slow. It also resumes it, and then the bytes are put back again. */
  const mustWait = (next: Buffer) => {
    isHeld ||= isFull(next)
    if (isHeld) socket.pause()
    return socket.isPaused()
  }
  const onData = (bytes: Buffer) => {
    let rest = bytes
    do {
      if (mustWait(rest)) return void socket.unshift(rest)
      const end = findEnd(rest, isInBody() ? MIN_OF_BODY : 0)
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
function findEnd(bytes: Buffer, from: number): number {
  const end = bytes.indexOf(HEAD_END, from)
  if (end === -1) return bytes.length
  let next = end + HEAD_END.length
  // Empty lines before a request mean nothing, and begin none.
  while (bytes[next] === CR || bytes[next] === LF) next += 1
  return bytes.indexOf(HEAD_END, next) === -1 ? bytes.length : next
}
