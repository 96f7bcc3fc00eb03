import http from 'node:http'
import type { Config } from '../../context/config.ts'
import { toDatabaseText } from '../../context/database-text.ts'
import { createLog } from '../../telemetry/log.ts'
import { printDatabase, refuseStrayDatabase } from '../database.ts'
import { type ApiClient, createApiClient, toConnect } from './api-client.ts'

type OpenClient = { readonly client: ApiClient; readonly close: () => Promise<void> }

type ClientOptions = { readonly url?: string; readonly plainHttp?: true; readonly key: string }

/** A client of the server at the address, or of the API inside this process, on the configured database. */
export async function openClient(
  config: Config,
  { url, plainHttp, key }: ClientOptions,
): Promise<OpenClient> {
  if (url !== undefined)
    return { client: createApiClient(url, toConnect(url, plainHttp), key), close: async () => {} }
  printDatabase(config)
  await refuseStrayDatabase(config)
  const [{ createApiServer }, { createContext }, { connectLocally }] = await Promise.all([
    import('../../server/api-server.ts'),
    import('../../server/create-context.ts'),
    import('../../http/local-request.ts'),
  ])
  // The certificate is for the listener of the server, and there is none here.
  const inside = { ...config, tlsCert: undefined, tlsKey: undefined }
  const context = await createContext(inside, createLog('warn', config.logFile))
  const app = createApiServer(context)
  const connect = (options: http.RequestOptions) =>
    http.request({ ...options, host: 'localhost', createConnection: () => connectLocally(app) })
  return {
    client: createApiClient(toDatabaseText(config), connect, key),
    close: async () => {
      await app.close()
      await context.close()
    },
  }
}
