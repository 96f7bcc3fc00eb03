import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadConfig } from '../src/context/config.ts'
import type { Context } from '../src/context/context.ts'
import { SCOPES } from '../src/contract/scope.ts'
import { createKey, type KeyOptions } from '../src/keys/manage.ts'
import { SANDBOX_KEY } from '../src/keys/sandbox-key.ts'
import { type ApiServer, createApiServer } from '../src/server/api-server.ts'
import { createContext } from '../src/server/create-context.ts'
import { type InjectOptions, type InjectResponse, inject } from './inject.ts'
import { copyTables } from './run/sqlite-template.ts'

export type TestApp = {
  readonly app: ApiServer & { readonly inject: (options: InjectOptions) => Promise<InjectResponse> }
  readonly context: Context
  readonly createKey: (wishes?: Partial<KeyOptions>) => Promise<string>
  readonly close: () => Promise<void>
}

/** A database on a busy machine is slow, and not silent: a request waits for it. */
const PATIENT = { TABBAT_LOG_LEVEL: 'silent', TABBAT_STORE_TIMEOUT: '60s' }

/**
 * The whole app on a database of its own. With `isStopping`, its worker never looks at the queue: one that is stopped later may be
 * in a round, and begin what is asked next.
 */
export async function openTestApp(
  settings: Record<string, string> = {},
  { isStopping = false } = {},
): Promise<TestApp> {
  const dataDir = mkdtempSync(join(tmpdir(), 'tabbat-test-'))
  const { TABBAT_DATABASE_URL, TABBAT_DATA_DIR } = settings
  if ((TABBAT_DATABASE_URL ?? TABBAT_DATA_DIR) === undefined) await copyTables(dataDir)
  const config = loadConfig({ TABBAT_DATA_DIR: dataDir, ...PATIENT, ...settings }, '')
  const context = await createContext(config)
  context.lifecycle.stopping = isStopping
  const app = createApiServer(context)
  return {
    app: { ...app, inject: (options) => inject(app, options) },
    context,
    createKey: async (wishes = {}) => {
      const all: KeyOptions = {
        name: 'test',
        mode: 'test',
        scopes: SCOPES,
        expiresAt: undefined,
        allowedIps: undefined,
        ...wishes,
      }
      return (await createKey({ ...context, keyring: context.keyring() }, all)).text
    },
    close: async () => {
      await app.close()
      await context.close()
      rmSync(dataDir, { recursive: true })
    },
  }
}

export const bearer = (key = SANDBOX_KEY) => ({ authorization: `Bearer ${key}` })

export const PHONE = '08031234567'
