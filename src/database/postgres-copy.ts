import { type Connection, Query } from 'pg'

type CopyConnection = Connection & {
  readonly sendCopyFromChunk: (chunk: Uint8Array) => void
  readonly endCopyFrom: () => void
}

/** The driver asks the query for the data of a COPY … FROM STDIN. */
class CopyInQuery extends Query {
  readonly #data: Uint8Array

  constructor(sql: string, data: Uint8Array, done: (error: Error | null) => void) {
    super(sql, done)
    this.#data = data
  }

  handleCopyInResponse(connection: CopyConnection): void {
    connection.sendCopyFromChunk(this.#data)
    connection.endCopyFrom()
  }
}

type Client = { readonly query: (query: never) => unknown }

export function copyIn(client: Client, sql: string, data: Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    const query = new CopyInQuery(sql, data, (error) => (error ? reject(error) : resolve()))
    client.query(query as never)
  })
}
