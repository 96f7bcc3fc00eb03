import { once } from 'node:events'
import { findFreePort } from '../free-port.ts'
import { newDataDir, type RunningServer, type Settings, startServer } from '../process/tabbat.ts'

/** A server of a cluster, which can be stopped and started again on the same port. */
export type ClusterNode = {
  readonly address: string
  readonly url: string
  readonly settings: Settings
  readonly start: () => Promise<void>
  /** With SIGTERM. Returns the exit code. */
  readonly stop: () => Promise<number | null>
  readonly kill: () => Promise<void>
}

/** Not started yet. Each node has its own data folder and all have the same root key. */
async function createNode(settings: Settings): Promise<ClusterNode> {
  const port = await findFreePort()
  const own = {
    ...settings,
    TABBAT_DATA_DIR: newDataDir(),
    TABBAT_PORT: String(port),
    TABBAT_TRUST_PROXY: '127.0.0.1',
  }
  let server: RunningServer | undefined
  return {
    address: `127.0.0.1:${port}`,
    url: `http://127.0.0.1:${port}`,
    settings: own,
    start: async () => {
      server = await startServer(own)
    },
    stop: async () => (await server?.stop()) ?? null,
    kill: async () => {
      if (!server || server.child.exitCode !== null || server.child.signalCode !== null) return
      const ended = once(server.child, 'close')
      server.child.kill('SIGKILL')
      await ended
    },
  }
}

export const createNodes = (count: number, settings: Settings): Promise<ClusterNode[]> =>
  Promise.all(Array.from({ length: count }, () => createNode(settings)))
