import { mkdtempSync, openSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadConfig } from '../../src/context/config.ts'
import { SCOPES } from '../../src/contract/scope.ts'
import { createKey } from '../../src/keys/manage.ts'
import { createApiServer } from '../../src/server/api-server.ts'
import { createContext } from '../../src/server/create-context.ts'
import { createLog } from '../../src/telemetry/log.ts'
import { bearer } from '../app.ts'

export const VERIFY = '/api/v2/kyc/verify-nin'

/** A server with traces on a real socket. `finish` ends it, which sends all spans, and returns its log. */
export async function openServer(collectorUrl: string, settings: Record<string, string> = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'tabbat-traces-'))
  const path = join(folder, 'log')
  const log = createLog('trace', openSync(path, 'w'))
  const given = { TABBAT_DATA_DIR: folder, OTEL_EXPORTER_OTLP_ENDPOINT: collectorUrl, ...settings }
  const context = await createContext(loadConfig(given, ''), log)
  const app = createApiServer(context)
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  const options = {
    name: 'x',
    mode: 'live',
    scopes: SCOPES,
    expiresAt: undefined,
    allowedIps: undefined,
  } as const
  return {
    context,
    createLiveKey: async () => (await createKey({ ...context, keyring: context.keyring() }, options)).text,
    post: (target: string, body: object, headers: Record<string, string> = bearer()) =>
      fetch(url + target, {
        method: 'POST',
        headers: { 'content-type': 'application/json', connection: 'close', ...headers },
        body: JSON.stringify(body),
      }),
    finish: async () => {
      await app.close()
      await context.close()
      log.flush()
      const lines = readFileSync(path, 'utf8').trimEnd().split('\n')
      return lines.map((line) => JSON.parse(line) as Record<string, unknown>)
    },
  }
}
