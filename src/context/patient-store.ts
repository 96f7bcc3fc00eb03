import { openStore, type Store } from './store.ts'

/** One holds a lock of the process. */
const CONNECTIONS = 5

/**
 * For work of a server that takes longer than a request may wait: its calls to PostgreSQL have short timeouts, and these have none.
 * SQLite is written by the thread of the server.
 */
export async function withPatientStore<T>(store: Store, work: (store: Store) => Promise<T>): Promise<T> {
  const { dataDir, databaseUrl } = store
  if (databaseUrl === undefined) return work(store)
  const options = { dataDir, databaseUrl, databaseConnections: CONNECTIONS, keepsSchema: true }
  const patient = await openStore(options)
  return work(patient).finally(patient.close)
}
