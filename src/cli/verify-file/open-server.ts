import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { type Batches, createTabbat, TabbatError } from '../../../packages/client/src/index.ts'
import type { Config } from '../../context/config.ts'
import { toDatabaseText } from '../../context/database-text.ts'
import { UserError } from '../../errors.ts'
import { toListenerUrl } from '../../http/address.ts'
import type { LocalRequest } from '../../http/local-request.ts'
import { isLoopback } from '../../settings/setting.ts'
import { createLog } from '../../telemetry/log.ts'
import { printDatabase, refuseStrayDatabase } from '../database.ts'

/** A server by its address, or the API inside this process. */
export type OpenServer = {
  /** To be shown. */
  readonly name: string
  readonly batches: Batches
  readonly close: () => Promise<void>
}

type ServerOptions = { readonly url?: string; readonly plainHttp?: true; readonly key: string }

/** A server that restarts is waited for, about a minute. A slow line has five minutes for a part. */
const PATIENCE = { attemptTimeoutMs: 60_000, timeoutMs: 300_000, maxRetries: 15 } as const

/** A server may run on the same data: its first worker withdraws, scrubs and cleans up, and this process does not. */
const NO_WORKER = 0

/** The server at the address, or else the API inside this process, on the configured database. */
export async function openServer(
  config: Config,
  { url, plainHttp, key }: ServerOptions,
): Promise<OpenServer> {
  if (url !== undefined) {
    requireServerUrl(url, plainHttp)
    const { batches } = createTabbat({ ...PATIENCE, key, baseUrl: url })
    return { name: url, batches, close: async () => {} }
  }
  printDatabase(config)
  await refuseStrayDatabase(config)
  const [{ createApiServer }, { createContext }, { openLocally }] = await Promise.all([
    import('../../server/api-server.ts'),
    import('../../server/create-context.ts'),
    import('../../http/local-request.ts'),
  ])
  // The certificate is for the listener of the server, and there is none here. Links to pictures lead to that server.
  const publicUrl = config.publicUrl ?? toListenerUrl(config, config)
  const inside = { ...config, publicUrl, tlsCert: undefined, tlsKey: undefined }
  const context = await createContext(inside, createLog('warn', config.logFile), NO_WORKER)
  const app = createApiServer(context)
  const fetchInside = createFetch((request) => openLocally(app, request))
  const { batches } = createTabbat({ ...PATIENCE, key, baseUrl: 'http://localhost', fetch: fetchInside })
  return {
    name: toDatabaseText(config),
    batches,
    close: async () => {
      await app.close()
      await context.close()
    },
  }
}

function requireServerUrl(url: string, plainHttp: true | undefined): void {
  const base = URL.canParse(url) ? new URL(url) : undefined
  if (!base || !['http:', 'https:'].includes(base.protocol) || base.search !== '' || base.hash !== '')
    throw new UserError('--url must be the address of a server, for example https://tabbat.example.com.')
  if (/\/api\/v2\/*$/.test(base.pathname))
    throw new UserError('--url must be the address of the server without /api/v2.')
  if (base.username !== '' || base.password !== '')
    throw new UserError('--url must not hold a user name or a password.')
  if (base.protocol === 'http:' && !isLoopback(base.hostname.replace(/^\[|\]$/g, '')) && !plainHttp)
    throw new UserError(
      'Over http:// others on the network can read the key and the data. Use https://, or confirm with --plain-http.',
    )
}

/** `fetch` over connections in memory, as far as the client needs it. */
const createFetch =
  (open: (request: LocalRequest) => Promise<IncomingMessage>): typeof fetch =>
  async (input, { method = 'GET', headers, body, signal } = {}) => {
    const response = await open({
      method,
      path: new URL(String(input)).pathname,
      headers: headers as Record<string, string>,
      ...(typeof body === 'string' && { body }),
    })
    const end = () => response.destroy()
    if (signal?.aborted) end()
    signal?.addEventListener('abort', end)
    const { statusCode: status = 0, headersDistinct } = response
    const pairs = Object.entries(headersDistinct).flatMap(([name, values = []]) =>
      values.map((value): [string, string] => [name, value]),
    )
    const content = Readable.toWeb(response) as ReadableStream<Uint8Array>
    return new Response(content, { status, headers: pairs })
  }

/** What a failed call means for the operator. The text of the server is shown: it holds no values. */
export function serverError({ name }: OpenServer, error: unknown): unknown {
  if (!(error instanceof TabbatError) || error.code === 'aborted') return error
  const { code, status, message } = error
  if (status === 401) return new UserError(`${name} does not accept this key.`)
  if (status === 0) return new UserError(`${name}: ${message} Run the same command again to continue.`)
  return new UserError(
    code === 'unexpected_response'
      ? `${name} answered ${status}. Is this the address of Tabbat?`
      : `${name} answered ${status}: ${message}`,
  )
}
