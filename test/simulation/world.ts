import { AsyncLocalStorage } from 'node:async_hooks'
import { createRandom, type Random } from './random.ts'

/** One operating system process of the simulation. It dies by `kill`: nothing of it runs any more. */
export type SimulatedProcess = {
  readonly pid: number
  readonly name: string
  isAlive: boolean
  /** How far the wall clock of its machine is ahead. */
  clockMs: number
  /** Resolves when it dies. */
  readonly died: Promise<void>
  readonly onDeath: (() => void)[]
}

type Event = {
  readonly at: number
  readonly order: number
  readonly owner: SimulatedProcess | undefined
  run: (() => void) | undefined
}

const { setImmediate: realImmediate } = globalThis

/** Wall time at which every run begins: a Monday, 09:00 in Lagos. */
export const EPOCH_MS = Date.UTC(2026, 1, 2, 8)

/**
 * All times are multiples of this, so that sums and differences are exact whenever the run begins. One event takes this long: without
 * it, a loop that waits for the clock would not end.
 */
const TICK_MS = 1 / 128

/** Many times as much as a run needs. */
const MAX_MS = 36_000_000
const MAX_EVENTS = 300_000

/** The time, the events to come and the processes of one run. Everything is decided by the seed. */
export class World {
  readonly seed: number
  /** For the decisions of the simulation. */
  readonly random: Random
  /** For the keys, nonces and identifiers that the product draws. */
  readonly entropy: Random
  /** What happened, in order: two runs of one seed give the same. */
  readonly trace: string[] = []
  /** How far the wall clocks of all machines are ahead. */
  clockMs = 0
  maxClockMs = 0
  eventCount = 0
  deaths = 0
  /** What an event throws. */
  onError: (error: unknown) => void = () => {}
  readonly #events: Event[] = []
  readonly #startMs: number
  #nowMs: number
  #order = 0
  #pids = 100
  readonly #processes = new Map<number, SimulatedProcess>()
  readonly #real = new Set<Promise<unknown>>()

  constructor(seed: number) {
    this.seed = seed
    this.random = createRandom(seed, 'decisions')
    this.entropy = createRandom(seed, 'entropy')
    // The monotonic clock goes on from run to run, because modules of the product keep times of it.
    this.#startMs = Math.ceil(latestMs) + 1000
    this.#nowMs = this.#startMs
  }

  /** Since the beginning of the run. */
  get elapsedMs(): number {
    return this.#nowMs - this.#startMs
  }

  /** What performance.now() gives. */
  get monotonicMs(): number {
    return this.#nowMs
  }

  get wallMs(): number {
    return EPOCH_MS + this.elapsedMs + (processOf.getStore()?.clockMs ?? 0)
  }

  get timeOriginMs(): number {
    return EPOCH_MS - this.#startMs + (processOf.getStore()?.clockMs ?? 0)
  }

  note(what: string): void {
    this.trace.push(`${this.elapsedMs.toFixed(2)} ${what}`)
  }

  createProcess(name: string): SimulatedProcess {
    const { promise, resolve } = Promise.withResolvers<void>()
    const process = {
      pid: ++this.#pids,
      name,
      isAlive: true,
      clockMs: this.clockMs,
      died: promise,
      onDeath: [resolve],
    }
    this.#processes.set(process.pid, process)
    return process
  }

  isRunning(pid: number): boolean {
    return this.#processes.get(pid)?.isAlive === true
  }

  kill(process: SimulatedProcess): void {
    if (!process.isAlive) return
    process.isAlive = false
    this.deaths += 1
    for (const each of process.onDeath) each()
  }

  /** Runs something later, in the process that asks for it. Returns a function that prevents it. */
  after(ms: number, run: () => void): () => void {
    const owner = processOf.getStore()
    if (owner && !owner.isAlive) return () => {}
    const at = this.#nowMs + Math.max(0, Math.round(ms / TICK_MS) * TICK_MS)
    const event: Event = { at, order: ++this.#order, owner, run }
    push(this.#events, event)
    return () => {
      event.run = undefined
    }
  }

  /** Nothing runs for this long, as when a machine is suspended. What was due meanwhile happens afterwards. */
  skip(ms: number): void {
    this.#nowMs += Math.round(ms / TICK_MS) * TICK_MS
  }

  pause(ms: number): Promise<void> {
    return new Promise((resolve) => void this.after(ms, resolve))
  }

  /** Work outside the simulation, such as a module that is loaded or a query of PostgreSQL: no time passes until it is done. */
  awaitReal<T>(work: Promise<T>): Promise<T> {
    this.#real.add(work)
    const done = () => void this.#real.delete(work)
    work.then(done, done)
    return work
  }

  /** Lets time pass until the work is done. */
  async run<T>(work: Promise<T>): Promise<T> {
    let isDone = false
    const end = () => {
      isDone = true
    }
    work.then(end, end)
    await this.#settle()
    while (!isDone) {
      if (this.elapsedMs > MAX_MS || this.eventCount > MAX_EVENTS) throw new Error('the run does not end')
      const event = pop(this.#events)
      if (!event) throw new Error('the simulation stands still: nothing is left to happen')
      if (!event.run || (event.owner && !event.owner.isAlive)) continue
      this.#nowMs = Math.max(this.#nowMs, event.at) + TICK_MS
      latestMs = this.#nowMs
      this.eventCount += 1
      this.#perform(event.owner, event.run)
      await this.#settle()
    }
    return work
  }

  #perform(owner: SimulatedProcess | undefined, run: () => void): void {
    try {
      if (owner) processOf.run(owner, run)
      else processOf.exit(run)
    } catch (error) {
      this.onError(error)
      if (owner) this.kill(owner)
    }
  }

  /** Until no promise, tick or operation of the real system is left. */
  async #settle(): Promise<void> {
    for (;;) {
      await new Promise<void>((resolve) => void realImmediate(resolve))
      if (this.#real.size > 0) await Promise.allSettled(this.#real)
      else if (!process.getActiveResourcesInfo().some((name) => REAL.test(name))) return
    }
  }
}

/** Work of the thread pool. */
const REAL = /^(FSReq|FILEHANDLE|ZLIB|CryptoJob|.*REQUEST$)/i

/** Which process runs. Undefined: the world outside, such as vendors and callers. */
export const processOf = new AsyncLocalStorage<SimulatedProcess>()

let latestMs = performance.now()
let current: World | undefined

/** Timers of modules, which run as long as the program. */
const lasting: (() => void)[] = []
let isLoading = false

/** Loads the product. Timers that its modules start go on in every run, and belong to no process of the simulation. */
export async function loadProduct<T>(load: () => Promise<T>): Promise<T> {
  current = new World(0)
  isLoading = true
  const loaded = await load()
  isLoading = false
  return loaded
}

/** True: the timer lasts, and `begin` starts it in every run. */
export function isLasting(begin: () => void): boolean {
  if (isLoading) lasting.push(begin)
  return isLoading
}

export function beginWorld(seed: number): World {
  current = new World(seed)
  for (const reset of RESETS) reset()
  for (const begin of lasting) begin()
  return current
}

/** Called before every run: they empty the pools of random bytes of modules. */
const RESETS: (() => void)[] = []
Object.assign(globalThis, { simulationResets: RESETS })

export function world(): World {
  if (!current) throw new Error('no run of the simulation has begun')
  return current
}

const isBefore = (one: Event, other: Event) =>
  one.at < other.at || (one.at === other.at && one.order < other.order)

/** A binary heap. */
function push(heap: Event[], event: Event): void {
  let at = heap.push(event) - 1
  while (at > 0) {
    const parent = (at - 1) >> 1
    const above = heap[parent] as Event
    if (!isBefore(event, above)) break
    heap[at] = above
    at = parent
  }
  heap[at] = event
}

function pop(heap: Event[]): Event | undefined {
  const [first] = heap
  const last = heap.pop()
  if (!first || !last || heap.length === 0) return first
  let at = 0
  for (;;) {
    let child = 2 * at + 1
    if (child >= heap.length) break
    if (child + 1 < heap.length && isBefore(heap[child + 1] as Event, heap[child] as Event)) child += 1
    if (!isBefore(heap[child] as Event, last)) break
    heap[at] = heap[child] as Event
    at = child
  }
  heap[at] = last
  return first
}
