import { expect, vi } from 'vitest'
import { createTabbat, type Tabbat, TabbatError } from '../../packages/client/src/index.ts'
import type { TabbatOptions } from '../../packages/client/src/transport.ts'
import { SANDBOX_KEY } from '../../src/keys/sandbox-key.ts'
import { openTestApp, type TestApp } from '../app.ts'
import { createTestDatabase, hasPostgres } from '../postgres.ts'
import { type FlakyProxy, startFlakyProxy } from './flaky-proxy.ts'

export const ENGINES = hasPostgres() ? ['SQLite', 'PostgreSQL'] : ['SQLite']

export type ClientServer = TestApp & {
  readonly url: string
  readonly proxy: FlakyProxy
  /** A client behind the proxy. */
  readonly connect: (options?: Partial<TabbatOptions>) => Tabbat
}

/** A server on a real socket, with a proxy in front of it. */
export async function openClientServer(
  settings: Record<string, string> = {},
  engine = 'SQLite',
): Promise<ClientServer> {
  const database = engine === 'PostgreSQL' ? { TABBAT_DATABASE_URL: await createTestDatabase() } : {}
  const server = await openTestApp({ ...database, ...settings })
  const url = await server.app.listen({ host: '127.0.0.1', port: 0 })
  const proxy = await startFlakyProxy(url)
  return {
    ...server,
    url,
    proxy,
    connect: (options) => createTabbat({ key: SANDBOX_KEY, baseUrl: proxy.url, ...options }),
    close: async () => {
      await proxy.close()
      await server.close()
    },
  }
}

/** The error of a call. Anything else than a TabbatError fails the test. */
export async function errorOf(call: Promise<unknown>): Promise<TabbatError> {
  const thrown = await call.then(
    () => undefined,
    (error: unknown) => error,
  )
  if (thrown instanceof TabbatError) return thrown
  throw new Error('The call did not throw a TabbatError.', { cause: thrown })
}

/** The time for one attempt, if the caller says nothing. */
const ATTEMPT_MS = 20_000

/**
 * The result of a call whose first attempt gets no response: its time is over when the server has the request, however long that
 * takes. A short limit instead would also end the attempts after it, on a busy machine.
 */
export async function endFirstAttempt<T>({ proxy }: ClientServer, call: () => Promise<T>): Promise<T> {
  const before = proxy.requests.length
  proxy.fail('hang')
  const timers = vi.spyOn(globalThis, 'setTimeout')
  const result = call()
  await expect.poll(() => proxy.requests.length).toBe(before + 1)
  const [end] = timers.mock.calls.find(([, ms]) => ms === ATTEMPT_MS) ?? []
  timers.mockRestore()
  end?.()
  return result
}
