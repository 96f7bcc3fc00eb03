import pg, { type ClientConfig } from 'pg'
import { PostgresStream } from '../postgres/stream.ts'

export const { Query, types } = pg

/** The real driver, on a simulated connection. */
export class Client extends pg.Client {
  constructor(config: ClientConfig = {}) {
    super({ ...config, stream: () => new PostgresStream() as never })
  }
}

export class Pool extends pg.Pool {
  constructor(config: pg.PoolConfig = {}) {
    super({ Client: Client as never, ...config })
  }
}
