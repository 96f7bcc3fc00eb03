import { EventEmitter } from 'node:events'
import { processOf, world } from './world.ts'

/** One end of the channel between a thread and the one that started it. */
class Port extends EventEmitter {
  other: Port | undefined
  #lastAt = 0

  /** Messages arrive later, in the order in which they were sent. */
  postMessage(message: unknown): void {
    const copy = structuredClone(message)
    const { random, elapsedMs } = world()
    this.#lastAt = Math.max(this.#lastAt, elapsedMs + random.between(0, random.chance(0.03) ? 30 : 0.6))
    world().after(this.#lastAt - elapsedMs, () => this.other?.emit('message', copy))
  }

  close(): void {
    world().after(0, () => this.other?.emit('exit', 0))
  }

  /** The modules of a thread keep its port as long as the program runs: nothing of the dead process may hang on it. */
  free(): void {
    this.removeAllListeners()
    // A module that is still being loaded may fail.
    this.on('error', () => {})
    this.other = undefined
  }

  ref(): void {}
  unref(): void {}
}

type Thread = { readonly parentPort: Port; readonly workerData: unknown }

export const threads = new Map<string, Thread>()
let count = 0

/** A thread of the product, run inside this one: its module is loaded once more, with a port of its own. */
export class Worker extends Port {
  constructor(file: URL, { workerData }: { readonly workerData?: unknown } = {}) {
    super()
    const id = `?thread=${++count}`
    const parentPort = new Port()
    parentPort.other = this
    this.other = parentPort
    processOf.getStore()?.onDeath.push(() => {
      this.free()
      parentPort.free()
    })
    threads.set(id, { parentPort, workerData: structuredClone(workerData) })
    const loading = import(file.href + id).finally(() => threads.delete(id))
    world()
      .awaitReal(loading)
      .catch((error: unknown) => this.emit('error', error))
  }

  async terminate(): Promise<void> {
    this.other = undefined
  }
}
