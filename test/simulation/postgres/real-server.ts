import { renameSync, writeFileSync } from 'node:fs'
import { Client, type CustomTypesConfig, types } from 'pg'
import { EPOCH_MS } from '../world.ts'

/** Which processes of the server wait for which others. */
export type Waits = ReadonlyMap<number, readonly number[]>

const { setTimeout: realTimeout } = globalThis

export const pauseReally = (ms: number): Promise<void> =>
  new Promise((resolve) => void realTimeout(resolve, ms))

const INT8 = 20
const parsers: CustomTypesConfig = {
  getTypeParser: (oid, format) => (oid === INT8 ? Number : types.getTypeParser(oid, format)),
}

/** The real PostgreSQL, over a connection of the simulation. */
export class RealServer {
  readonly url: string
  readonly clockFile: string
  readonly #client: Client

  private constructor(url: string, clockFile: string, client: Client) {
    this.url = url
    this.clockFile = clockFile
    this.#client = client
  }

  static async open(url: string, clockFile: string): Promise<RealServer> {
    const client = new Client({ connectionString: url })
    await client.connect()
    return new RealServer(url, clockFile, client)
  }

  get port(): number {
    return Number(new URL(this.url).port)
  }

  /** In one step: a statement that is still running may read it now. */
  setClock(ms: number): void {
    const draft = `${this.clockFile}.new`
    writeFileSync(draft, (EPOCH_MS + ms).toFixed(3))
    renameSync(draft, this.clockFile)
  }

  async query(sql: string, ...values: unknown[]): Promise<Record<string, unknown>[]> {
    return (await this.#client.query(sql, values)).rows
  }

  async readWaits(pids: readonly number[]): Promise<Waits> {
    const rows = await this.query(
      'SELECT pid, pg_blocking_pids(pid) AS blockers FROM unnest($1::int[]) AS pid ORDER BY pid',
      pids,
    )
    return new Map(rows.map(({ pid, blockers }) => [Number(pid), blockers as number[]]))
  }

  cancel = (pid: number) => this.query('SELECT pg_cancel_backend($1)', pid)

  terminate = (pid: number) => this.query('SELECT pg_terminate_backend($1)', pid)

  /** Its transaction is rolled back then, and its locks are free. */
  async untilGone(pid: number): Promise<void> {
    while ((await this.query('SELECT 1 FROM pg_stat_activity WHERE pid = $1', pid)).length > 0)
      await pauseReally(1)
  }

  /** On a connection of its own, to another database of the server. */
  async inDatabase<T>(name: string, work: (client: Client) => Promise<T>): Promise<T> {
    const connectionString = Object.assign(new URL(this.url), { pathname: name }).href
    const client = new Client({ connectionString, types: parsers })
    await client.connect()
    try {
      return await work(client)
    } finally {
      await client.end()
    }
  }
}
