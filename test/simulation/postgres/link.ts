import type { Duplex } from 'node:stream'
import type { SimulatedProcess } from '../world.ts'
import type { Backend } from './backend.ts'
import { type Message, toTexts, withText } from './messages.ts'

/** The times that PostgreSQL would measure by the real clock. The simulation measures them by its own. */
const LIMITS = ['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout'] as const
type Limit = (typeof LIMITS)[number]

const SET_LIMIT = new RegExp(`SET (SESSION|LOCAL) (${LIMITS.join('|')}) = '?(\\d+)(s?)'?`, 'g')

/** One connection of a process of the product to the server. */
export class Link {
  readonly stream: Duplex
  readonly owner: SimulatedProcess | undefined
  backend: Backend | undefined
  /** Statements that the server has not begun. */
  readonly queue: (Message[] | 'close')[] = []
  /** On their way to the server, and back. */
  readonly toServer: (() => void)[] = []
  readonly toClient: (() => void)[] = []
  toServerAt = 0
  toClientAt = 0
  isBusy = false
  isClosing = false
  isBroken = false
  /** Of the transaction. */
  status = 'I'
  /** Changes with every statement. */
  activity = 0
  cancelIdle: () => void = () => {}
  readonly #texts = new Map<string, string>()
  readonly #session = new Map<string, number>()
  readonly #local = new Map<string, number>()

  constructor(stream: Duplex, owner: SimulatedProcess | undefined) {
    this.stream = stream
    this.owner = owner
  }

  /** What a request says in SQL. */
  toText(request: readonly Message[]): string {
    let text = ''
    for (const message of request) {
      const [first = '', second = ''] = toTexts(message)
      if (message.type === 'Q') text = first
      if (message.type === 'P') this.#texts.set(first, second)
      if (message.type === 'B') text = this.#texts.get(second) ?? ''
    }
    return text
  }

  /** The bytes for the server. Its own limits are off. */
  toBytes(request: readonly Message[], text: string): Buffer {
    for (const [, scope, name = '', value, unit] of text.matchAll(SET_LIMIT))
      (scope === 'LOCAL' ? this.#local : this.#session).set(name, Number(value) * (unit === 's' ? 1000 : 1))
    const changed = request.map((message) =>
      withText(message, (sql) => sql.replaceAll(SET_LIMIT, 'SET $1 $2 = 0')),
    )
    return Buffer.concat(changed.map(({ bytes }) => bytes))
  }

  /** Undefined: none. */
  limitMs(name: Limit): number | undefined {
    return (this.#local.get(name) ?? this.#session.get(name)) || undefined
  }

  setStatus(status: string): void {
    this.status = status
    if (status === 'I') this.#local.clear()
  }

  /** Whether this statement ends a transaction: COMMIT, and every statement outside of one. */
  isCommit(text: string): boolean {
    if (/^COMMIT/.test(text)) return this.status === 'T'
    return this.status === 'I' && !/^(BEGIN|SET|SELECT pg_backend_pid|ROLLBACK|COMMIT)/.test(text)
  }
}
