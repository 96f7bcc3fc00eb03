import { connect, type Socket } from 'node:net'
import { createSplitter, toMessage } from './messages.ts'

/** What a server process of PostgreSQL answered. */
export type Answer = {
  readonly bytes: Buffer
  /** Of the transaction: I, T or E. Undefined: it waits for the rows of a COPY. */
  readonly status: string | undefined
}

/** A connection to the real PostgreSQL, used for one statement at a time. */
export class Backend {
  pid = 0
  readonly #socket: Socket
  #pieces: Buffer[] = []
  #resolve: (answer: Answer | undefined) => void = () => {}
  #isClosed = false

  constructor(port: number) {
    this.#socket = connect({ port, host: '127.0.0.1', noDelay: true })
    const split = createSplitter(false)
    this.#socket.on('data', (piece: Buffer) => {
      for (const { type, bytes } of split(piece)) this.#add(type, bytes)
    })
    this.#socket.on('error', () => {})
    this.#socket.on('close', () => {
      this.#isClosed = true
      this.#resolve(undefined)
    })
  }

  #add(type: string, bytes: Buffer): void {
    if (type === 'K') this.pid = bytes.readInt32BE(5)
    this.#pieces.push(bytes)
    if (type !== 'Z' && type !== 'G') return
    const status = type === 'Z' ? String.fromCharCode(bytes[5] as number) : undefined
    const answer = { bytes: Buffer.concat(this.#pieces), status }
    this.#pieces = []
    this.#resolve(answer)
  }

  /** Undefined: the connection has ended. */
  send(bytes: Buffer): Promise<Answer | undefined> {
    const { promise, resolve } = Promise.withResolvers<Answer | undefined>()
    this.#resolve = resolve
    if (this.#isClosed) resolve(undefined)
    else this.#socket.write(bytes)
    return promise
  }

  end(): void {
    this.#socket.end(toMessage('X'))
  }

  destroy(): void {
    this.#socket.destroy()
  }
}
