import { isLasting, processOf, world } from './world.ts'

/**
 * Puts the clock and the timers of the simulation in place of those of Node.js, for the whole process. To be called before the
 * product is loaded.
 */
export function installClock(): void {
  const RealDate = Date
  class SimulatedDate extends RealDate {
    constructor(...given: unknown[]) {
      if (given.length === 0) super(SimulatedDate.now())
      else super(...(given as [number]))
    }
    static override now(): number {
      return Math.floor(world().wallMs)
    }
  }
  Object.assign(globalThis, { Date: SimulatedDate, ...TIMERS })
  Math.random = () => world().entropy.next()
  Object.defineProperty(performance, 'now', { value: () => world().monotonicMs })
  Object.defineProperty(performance, 'timeOrigin', { get: () => world().timeOriginMs })
  Object.defineProperty(process, 'pid', { get: () => processOf.getStore()?.pid ?? 1 })
}

/** A timer fires late by this much at most, now and then by more, as on a busy machine. */
const LATE_MS = 1.5
const VERY_LATE_MS = 40

class Timer {
  readonly #ms: number
  readonly #run: () => void
  readonly #repeats: boolean
  #cancel: () => void = () => {}
  constructor(run: () => void, ms: number, repeats: boolean) {
    this.#run = run
    // As Node.js does.
    this.#ms = ms >= 1 && ms <= 2 ** 31 - 1 ? Math.trunc(ms) : 1
    this.#repeats = repeats
    if (!isLasting(() => this.refresh())) this.refresh()
  }
  refresh(): this {
    this.#cancel()
    const { random } = world()
    const lateMs = random.chance(0.01) ? random.between(0, VERY_LATE_MS) : random.between(0, LATE_MS)
    this.#cancel = world().after(this.#ms + lateMs, () => {
      if (this.#repeats) this.refresh()
      this.#run()
    })
    return this
  }
  close(): this {
    this.#cancel()
    return this
  }
  ref(): this {
    return this
  }
  unref(): this {
    return this
  }
  hasRef(): boolean {
    return true
  }
  [Symbol.dispose](): void {
    this.#cancel()
  }
}

type Run = (...given: unknown[]) => void

const clear = (timer: unknown) => {
  if (timer instanceof Timer) timer.close()
}

const TIMERS = {
  setTimeout: (run: Run, ms = 1, ...given: unknown[]) => new Timer(() => run(...given), ms, false),
  setInterval: (run: Run, ms = 1, ...given: unknown[]) => new Timer(() => run(...given), ms, true),
  setImmediate: (run: Run, ...given: unknown[]) => new Immediate(() => run(...given)),
  clearTimeout: clear,
  clearInterval: clear,
  clearImmediate: (immediate: unknown) => {
    if (immediate instanceof Immediate) immediate.cancel()
  },
}

class Immediate {
  readonly cancel: () => void
  constructor(run: () => void) {
    this.cancel = world().after(0, run)
  }
  ref(): this {
    return this
  }
  unref(): this {
    return this
  }
  hasRef(): boolean {
    return true
  }
}
