import { afterRunning, ranMs } from '../telemetry/running-clock.ts'

/** A request has waited for the database as long as it may. Known as a failure of the store by its code. */
class StoreTooSlow extends Error {
  readonly code = 'ETIMEDOUT'

  constructor() {
    super('the database took too long for one request')
    this.name = 'StoreTooSlow'
  }
}

/** Kept for the commit of an answer, so that one that was paid for is not lost to a caller who has waited before. */
const COMMIT_PART = 0.35

/** The time that one request may wait for the database in all (TABBAT_STORE_TIMEOUT). Waits for vendors and callers do not count. */
export class StoreBudget {
  readonly #commitMs: number
  #leftMs: number
  /** While time counts. */
  #running: { readonly since: number; readonly cancel: () => void } | undefined
  #isPaused = false
  #giveUp: (error: Error) => void = () => {}

  constructor(limitMs: number) {
    this.#commitMs = limitMs * COMMIT_PART
    this.#leftMs = limitMs
  }

  /**
   * Fails when the time is used up. The work is not cut off: a commit under way may still succeed, and what the request holds in the
   * store is given back in the usual way.
   */
  limit<T>(work: Promise<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    this.#giveUp = reject
    // The work may have begun with a pause, such as the upload of a batch.
    if (!this.#isPaused) this.#start()
    work.then(
      (result) => {
        this.#stop()
        resolve(result)
      },
      (error) => {
        this.#stop()
        reject(error)
      },
    )
    return promise
  }

  /** For a wait that is not for the database. Fails at once when the caller has got its answer. */
  async pause<T>(work: () => Promise<T>): Promise<T> {
    this.#stop()
    if (this.#leftMs <= 0) throw new StoreTooSlow()
    this.#isPaused = true
    try {
      return await work()
    } finally {
      this.#isPaused = false
      this.#start()
    }
  }

  /** During a pause: counts the wait for what must be written before a paid call, and leaves time for the commit of its answer. */
  async beforePaying<T>(work: () => Promise<T>): Promise<T> {
    const since = performance.now()
    const mayTakeMs = this.#leftMs - this.#commitMs
    if (mayTakeMs <= 0) throw new StoreTooSlow()
    const late = Promise.withResolvers<never>()
    let tookMs: number | undefined
    const cancel = afterRunning(mayTakeMs, () => {
      tookMs = mayTakeMs
      late.reject(new StoreTooSlow())
    })
    try {
      return await Promise.race([work(), late.promise])
    } finally {
      cancel()
      this.#leftMs -= tookMs ?? ranMs(since)
    }
  }

  /** Waits for work that the answer does not need, for half of the time that is left. */
  async spare(work: Promise<void>): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const leftMs = this.#leftMs - (this.#running ? ranMs(this.#running.since) : 0)
    const cancel = afterRunning(leftMs / 2, resolve)
    await Promise.race([work, promise])
    cancel()
  }

  #start(): void {
    const cancel = afterRunning(this.#leftMs, () => {
      this.#running = undefined
      this.#leftMs = 0
      this.#giveUp(new StoreTooSlow())
    })
    this.#running = { since: performance.now(), cancel }
  }

  #stop(): void {
    if (!this.#running) return
    this.#running.cancel()
    this.#leftMs -= ranMs(this.#running.since)
    this.#running = undefined
  }
}
