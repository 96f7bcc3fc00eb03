import { createHash, type Hash } from 'node:crypto'
import type { Duplex } from 'node:stream'
import { processOf, type SimulatedProcess, world } from '../world.ts'
import { type Answer, Backend } from './backend.ts'
import { Link } from './link.ts'
import { type Message, toFailure, toStartup } from './messages.ts'
import { pauseReally, type RealServer, type Waits } from './real-server.ts'

export type { Link }

/** A statement that PostgreSQL executes. */
type Job = {
  readonly link: Link
  readonly text: string
  answer: Answer | undefined
  isDone: boolean
  readonly done: Promise<void>
  /** The error that takes the place of that of a cancelled statement. */
  code: string | undefined
  hasLimit: boolean
  becomes: 'answered' | 'lost' | 'deadly' | 'failed'
}

/** What becomes of commits, now and then, for a while. */
type CommitFault = 'fails' | 'answer_lost' | undefined
const FAULT_CHANCE = 0.25

type Death = { left: number; readonly side: 'before' | 'after'; readonly only: RegExp }

const CANCELLED = 'C57014\0'

/**
 * PostgreSQL as the processes of the product see it: a real server, which executes one statement after the other in the order in which
 * they arrive, while no virtual time passes. A statement that waits for a lock lets the others go on.
 */
class PostgresServer {
  commitFault: CommitFault
  isAway = false
  /** How far its clock is ahead. */
  clockMs = 0
  statements = 0
  #real: RealServer | undefined
  #database = ''
  #silentUntil = 0
  #links = new Set<Link>()
  #jobs: Job[] = []
  #digest: Hash = createHash('sha256')
  readonly #deaths = new Map<SimulatedProcess, Death>()

  /** Before every run. */
  begin(real: RealServer | undefined, database: string): void {
    this.#real = real
    this.#database = database
    this.#links = new Set()
    this.#jobs = []
    this.#digest = createHash('sha256')
    this.statements = 0
    this.clockMs = 0
    this.calm()
  }

  /** After every run: the connections that are left end. */
  end(): void {
    for (const { backend } of this.#links) backend?.destroy()
    this.#links.clear()
  }

  calm(): void {
    this.#deaths.clear()
    this.commitFault = undefined
    this.isAway = false
    this.#silentUntil = 0
  }

  /** Equal if the statements and the sizes of their answers were equal. */
  get fingerprint(): string {
    return this.#digest.copy().digest('hex').slice(0, 16)
  }

  killAt(process: SimulatedProcess, death: Death): void {
    this.#deaths.set(process, death)
  }

  /** For a while, nothing arrives and nothing is answered. */
  silence(ms: number): void {
    this.#silentUntil = world().elapsedMs + ms
  }

  /** All connections break, and their transactions are rolled back. */
  breakAll(): void {
    const links = [...this.#links]
    this.#work(async () => {
      for (const link of links) await this.#terminate(link)
    })
  }

  connect(stream: Duplex): Link {
    const link = new Link(stream, processOf.getStore())
    this.#links.add(link)
    link.owner?.onDeath.push(() => this.close(link))
    this.#toServer(link, () => {
      if (this.isAway) this.#break(link, 'ECONNREFUSED')
      else this.#toClient(link, () => stream.emit('connect'))
    })
    return link
  }

  send(link: Link, request: Message[]): void {
    this.#toServer(link, () => this.#arrive(link, request))
  }

  close(link: Link): void {
    if (link.isClosing || link.isBroken) return
    link.isClosing = true
    this.#toServer(link, () => this.#arrive(link, 'close'))
  }

  #arrive(link: Link, request: Message[] | 'close'): void {
    if (link.isBroken) return
    link.queue.push(request)
    this.#advance(link)
  }

  #advance(link: Link): void {
    const request = link.isBusy ? undefined : link.queue.shift()
    if (!request) return
    link.isBusy = true
    this.#work(() => (request === 'close' ? this.#end(link) : this.#perform(link, request)))
  }

  /** Real work: all that it causes has happened before time passes. */
  #work(action: () => Promise<void>): void {
    const all = async () => {
      this.#real?.setClock(world().elapsedMs + this.clockMs)
      await action()
      do await this.#untilStill()
      while (await this.#finishJobs())
    }
    world()
      .awaitReal(all())
      .catch((error: unknown) => world().onError(error))
  }

  async #perform(link: Link, request: Message[]): Promise<void> {
    if (request[0]?.type === 'startup') return this.#start(link)
    const text = link.toText(request)
    link.activity += 1
    this.statements += 1
    const isCommit = link.isCommit(text)
    const death = link.owner && this.#deaths.get(link.owner)
    const isLast = death?.only.test(isCommit ? 'COMMIT' : text) === true && --death.left <= 0
    if (isLast && death.side === 'before') return this.#die(link, text)
    const becomes = isLast ? 'deadly' : this.#drawFate(link, isCommit)
    this.#send(link, text, { bytes: link.toBytes(request, text), becomes })
  }

  #drawFate({ owner }: Link, isCommit: boolean): Job['becomes'] {
    if (!isCommit || !this.commitFault || !world().random.chance(FAULT_CHANCE)) return 'answered'
    const isLost = this.commitFault === 'answer_lost'
    world().note(`a commit of ${owner?.name} ${isLost ? 'is not answered' : 'fails'}`)
    return isLost ? 'lost' : 'failed'
  }

  #send(link: Link, text: string, { bytes, becomes }: { bytes: Buffer; becomes: Job['becomes'] }): void {
    const { promise: done, resolve } = Promise.withResolvers<void>()
    const job: Job = {
      link,
      text,
      answer: undefined,
      isDone: false,
      done,
      code: undefined,
      hasLimit: false,
      becomes,
    }
    this.#jobs.push(job)
    void link.backend?.send(becomes === 'failed' ? ROLLBACK : bytes).then((answer) => {
      job.answer = answer
      job.isDone = true
      resolve()
    })
  }

  async #start(link: Link): Promise<void> {
    if (!this.#real || this.isAway) return this.#break(link, 'ECONNRESET')
    link.backend = new Backend(this.#real.port)
    const settings = { user: 'postgres', database: this.#database, application_name: 'tabbat' }
    const answer = await link.backend.send(toStartup({ ...settings, client_encoding: 'UTF8' }))
    link.isBusy = false
    if (answer) this.#toClient(link, () => void link.stream.push(answer.bytes))
    else this.#break(link, 'ECONNRESET')
    this.#goOn(link)
  }

  #die(link: Link, text: string): void {
    const { owner } = link
    link.isBusy = false
    link.queue.length = 0
    world().note(`${owner?.name} dies at ${text.trim().slice(0, 24).replaceAll(/\s+/g, ' ')}`)
    if (owner) {
      this.#deaths.delete(owner)
      world().kill(owner)
    }
  }

  /** The client has gone: its transaction is rolled back. */
  async #end(link: Link): Promise<void> {
    this.#links.delete(link)
    link.isBroken = true
    link.backend?.end()
    if (link.backend) await this.#real?.untilGone(link.backend.pid)
    this.#toClient(link, () => {
      link.stream.push(null)
      link.stream.destroy()
    })
  }

  async #terminate(link: Link): Promise<void> {
    if (link.backend) {
      await this.#real?.terminate(link.backend.pid)
      await this.#real?.untilGone(link.backend.pid)
      link.backend.destroy()
    }
    this.#jobs = this.#jobs.filter((job) => job.link !== link)
    this.#break(link, 'ECONNRESET')
  }

  #break(link: Link, code: string): void {
    this.#links.delete(link)
    if (link.isBroken) return
    link.isBroken = true
    this.#toClient(link, () => void link.stream.destroy(Object.assign(new Error(code), { code })))
  }

  /** Until every statement is answered, or waits for a lock that only another client can give back. */
  async #untilStill(): Promise<void> {
    let before = ''
    for (let turn = 0; ; turn++) {
      const all = Promise.all(this.#jobs.map(({ done }) => done))
      await Promise.race([all, pauseReally(turn === 0 ? FIRST_LOOK_MS : LOOK_MS)])
      const open = this.#jobs.filter(({ isDone }) => !isDone)
      if (open.length === 0 || !this.#real) return
      const waits = await this.#real.readWaits(open.map(({ link }) => link.backend?.pid ?? 0))
      const isStill = open.every(
        ({ code, link }) => !code && (waits.get(link.backend?.pid ?? 0)?.length ?? 0) > 0,
      )
      const now = isStill ? JSON.stringify([...waits]) : ''
      const isSure = now !== '' && now === before
      before = now
      if (!isSure || open.some(({ isDone }) => isDone)) continue
      const victim = open.findLast(({ link }) => isInCircle(link.backend?.pid ?? 0, waits))
      if (!victim) return
      world().note(`a deadlock: ${victim.link.owner?.name} is the victim`)
      await this.#cancel(victim, 'C40P01\0')
    }
  }

  async #cancel(job: Job, code: string): Promise<void> {
    job.code = code
    await this.#real?.cancel(job.link.backend?.pid ?? 0)
  }

  /** True: locks were given back, so that others may go on. */
  async #finishJobs(): Promise<boolean> {
    const done = this.#jobs.filter(({ isDone }) => isDone)
    this.#jobs = this.#jobs.filter(({ isDone }) => !isDone)
    let isChanged = false
    for (const job of done) {
      const { link, text, answer, becomes, code } = job
      link.isBusy = false
      if (!answer || becomes === 'lost') {
        await this.#terminate(link)
        isChanged = true
        continue
      }
      const bytes =
        becomes === 'failed' ? toFailure('53100', 'could not extend file') : withCode(answer.bytes, code)
      if (!MEASURED.test(text)) this.#digest.update(`${text} ${bytes.length} ${answer.status}\n`)
      if (answer.status !== undefined) link.setStatus(answer.status)
      if (becomes === 'deadly') this.#die(link, text)
      this.#toClient(link, () => void link.stream.push(bytes))
      this.#limitIdleness(link)
      this.#goOn(link)
    }
    for (const job of this.#jobs) this.#limitWait(job)
    return isChanged
  }

  #goOn(link: Link): void {
    if (link.queue.length > 0) later(0, () => this.#advance(link))
  }

  /** PostgreSQL cancels a statement that waits for too long. */
  #limitWait(job: Job): void {
    if (job.hasLimit) return
    job.hasLimit = true
    world().note(`${job.link.owner?.name} waits for a lock`)
    const [whole, lock] = [job.link.limitMs('statement_timeout'), job.link.limitMs('lock_timeout')]
    const ms = Math.min(whole ?? Number.POSITIVE_INFINITY, lock ?? Number.POSITIVE_INFINITY)
    if (ms === Number.POSITIVE_INFINITY) return
    later(ms, () => {
      if (!this.#jobs.includes(job)) return
      world().note(`${job.link.owner?.name} has waited for too long`)
      this.#work(() => this.#cancel(job, ms === lock ? 'C55P03\0' : CANCELLED))
    })
  }

  #limitIdleness(link: Link): void {
    const ms = link.status === 'I' ? undefined : link.limitMs('idle_in_transaction_session_timeout')
    const { activity } = link
    link.cancelIdle()
    if (ms === undefined) return
    link.cancelIdle = later(ms, () => {
      if (link.activity !== activity || link.status === 'I' || link.isBroken) return
      world().note(`a transaction of ${link.owner?.name} is idle for too long`)
      this.#work(() => this.#terminate(link))
    })
  }

  /** Messages of one connection arrive in the order in which they were sent. */
  #toServer(link: Link, run: () => void): void {
    link.toServer.push(run)
    link.toServerAt = this.#toArrival(link.toServerAt)
    const arrive = (): void => {
      if (this.#silentUntil > world().elapsedMs) later(this.#silentUntil - world().elapsedMs, arrive)
      else link.toServer.shift()?.()
    }
    later(link.toServerAt - world().elapsedMs, arrive)
  }

  #toClient(link: Link, run: () => void): void {
    link.toClient.push(run)
    link.toClientAt = this.#toArrival(link.toClientAt)
    const arrive = (): void => {
      if (this.#silentUntil > world().elapsedMs) later(this.#silentUntil - world().elapsedMs, arrive)
      else deliver(link, link.toClient.shift())
    }
    later(link.toClientAt - world().elapsedMs, arrive)
  }

  #toArrival(lastAt: number): number {
    const { random, elapsedMs } = world()
    return Math.max(lastAt, elapsedMs + random.between(0.05, random.chance(0.02) ? 20 : 0.6))
  }
}

export const postgres = new PostgresServer()

/** Answers with the pid of a process of PostgreSQL, or how busy this one is. */
const MEASURED = /pg_backend_pid|lag_ms/

/** A statement takes about so long on a quiet machine. */
const FIRST_LOOK_MS = 25
const LOOK_MS = 3

const ROLLBACK = Buffer.from('Q\0\0\0\rROLLBACK\0', 'latin1')

/** In no process of the product. */
const later = (ms: number, run: () => void) => processOf.exit(() => world().after(ms, run))

function deliver({ owner, stream }: Link, run: (() => void) | undefined): void {
  if (!run || stream.destroyed) return
  if (!owner) run()
  else if (owner.isAlive) processOf.run(owner, run)
}

/** An answer to a cancelled statement, with the reason of the simulation. */
function withCode(bytes: Buffer, code: string | undefined): Buffer {
  const at = code === undefined ? -1 : bytes.indexOf(CANCELLED, 0, 'latin1')
  if (at === -1) return bytes
  const changed = Buffer.from(bytes)
  changed.write(code as string, at, 'latin1')
  return changed
}

function isInCircle(pid: number, waits: Waits): boolean {
  const seen = new Set<number>()
  const reach = (from: number): boolean =>
    (waits.get(from) ?? []).some((next) => {
      if (next === pid) return true
      if (seen.has(next)) return false
      seen.add(next)
      return reach(next)
    })
  return reach(pid)
}
