import { Duplex } from 'node:stream'
import { createSplitter, type Message } from './messages.ts'
import { type Link, postgres } from './server.ts'

/** After these the server answers. */
const COMPLETE = ['startup', 'Q', 'S', 'c', 'f']

/** The driver's end of a connection to the simulated server, in place of a socket. */
export class PostgresStream extends Duplex {
  readonly #split = createSplitter(true)
  #link: Link | undefined
  #messages: Message[] = []

  connect(): this {
    this.#link = postgres.connect(this)
    return this
  }

  override _write(piece: Buffer, _encoding: string, done: () => void): void {
    for (const message of this.#split(Buffer.from(piece))) {
      this.#messages.push(message)
      if (message.type === 'X') this.#close()
      if (!COMPLETE.includes(message.type)) continue
      if (this.#link) postgres.send(this.#link, this.#messages)
      this.#messages = []
    }
    done()
  }

  override _read(): void {}

  override _final(done: () => void): void {
    this.#close()
    done()
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#close()
    done(error)
  }

  #close(): void {
    if (this.#link) postgres.close(this.#link)
    this.#link = undefined
  }

  setNoDelay(): this {
    return this
  }
  setKeepAlive(): this {
    return this
  }
  ref(): this {
    return this
  }
  unref(): this {
    return this
  }
}
