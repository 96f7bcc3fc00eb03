import type { Dispatcher } from 'undici'

type Request = Parameters<Dispatcher['request']>[0]
export type RawReply = Awaited<ReturnType<Dispatcher['request']>>

type Client = {
  readonly request: (request: Request) => Promise<RawReply>
  /** Loads the code before the first request needs it. */
  readonly load: () => Promise<unknown>
  readonly close: () => Promise<void>
}

/**
 * A client that connects under the rules of this program. `trusted`: also to private addresses. Its code takes 16 MB, so a server
 * without vendors and webhooks does not load it.
 */
export function openClient(trusted: boolean): Client {
  let loading: ReturnType<typeof openLater> | undefined
  const openLater = async () => (await import('./http-agent.ts')).openAgent(trusted)
  const load = () => {
    loading ??= openLater()
    return loading
  }
  return {
    request: async (request) => (await load()).dispatcher.request(request),
    load,
    close: async () => (await loading)?.close(),
  }
}
