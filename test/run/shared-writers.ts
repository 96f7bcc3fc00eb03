import { EventEmitter } from 'node:events'
import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads'
import type { WriterData } from '../../src/database/sqlite-writer.ts'
import type { NewWriter } from './writer-host.ts'

// Vitest loads this for each test file, and a process runs many of them: there is one thread.
const KEY = Symbol.for('tabbat.writers')
const shared = globalThis as { [KEY]?: Worker }

/**
 * A writer of SQLite, as the product sees its thread. All writers of a test process share one thread: to start one takes as
 * much processor time as everything else that a test app needs.
 */
export class SharedWriter extends EventEmitter {
  readonly #port: MessagePort

  constructor(data: WriterData) {
    super()
    const { port1, port2 } = new MessageChannel()
    this.#port = port1
    port1.on('message', (message) => {
      if (message && typeof message === 'object' && 'thrown' in message) this.emit('error', message.thrown)
      else this.emit('message', message)
    })
    port1.once('close', () => this.emit('exit', 0))
    shared[KEY] ??= startHost()
    shared[KEY].postMessage({ port: port2, data } satisfies NewWriter, [port2])
  }

  postMessage(message: unknown): void {
    this.#port.postMessage(message)
  }

  ref(): void {
    this.#port.ref()
  }

  unref(): void {
    this.#port.unref()
  }
}

function startHost(): Worker {
  const host = new Worker(new URL('./writer-host.ts', import.meta.url))
  host.unref()
  return host
}
