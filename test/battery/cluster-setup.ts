import { randomBytes } from 'node:crypto'
import { type ClusterNode, createNodes } from '../cluster/node.ts'
import { type PatroniCluster, startPatroni } from '../cluster/patroni.ts'
import { type HaProxy, startHaproxy } from '../cluster/proxy.ts'
import { startTcpProxy, type TcpProxy } from '../cluster/tcp-proxy.ts'
import { findFreePort } from '../free-port.ts'
import { createPlace, type Place } from './place.ts'

/** Three nodes behind HAProxy, on a PostgreSQL cluster of two. */
export type Cluster = {
  readonly database: PatroniCluster
  readonly nodes: readonly ClusterNode[]
  readonly proxy: HaProxy
  readonly place: Place
  /** Between the nodes and the database. */
  readonly networks: readonly TcpProxy[]
  readonly stop: () => Promise<void>
}

const NODES = 3
const DATABASE = 'tabbat'

/** `several`: TABBAT_DATABASE_URL names both servers. `one`: it names HAProxy, which finds the primary. */
type Hosts = 'several' | 'one'

export async function startCluster(hosts: Hosts, shutdownDelay = '3s'): Promise<Cluster> {
  const database = await startPatroni()
  await database.untilSynchronous()
  await database.createDatabase(DATABASE)
  const front = await findFreePort()
  const targets = hosts === 'one' ? [front] : database.members.map(({ port }) => port)
  const networks = await Promise.all(targets.map((port) => startTcpProxy({ host: '127.0.0.1', port })))
  const addresses = networks.map(({ port }) => `127.0.0.1:${port}`).join(',')
  const query = hosts === 'one' ? '' : '?target_session_attrs=read-write'

  const { port } = await database.leader()
  const place = await createPlace({
    TABBAT_DATABASE_URL: database.toUrl(`127.0.0.1:${port}`, DATABASE),
    TABBAT_ROOT_KEY: randomBytes(32).toString('hex'),
  })
  const nodes = await createNodes(NODES, {
    ...place.settings,
    TABBAT_DATABASE_URL: `${database.toUrl(addresses, DATABASE)}${query}`,
    TABBAT_SHUTDOWN_DELAY: shutdownDelay,
  })
  const proxy = startHaproxy(
    nodes.map(({ address }) => address),
    { files: ['postgres.cfg'], env: toEnvironment(database, front) },
  )
  // They need HAProxy to reach the database.
  await Promise.all(nodes.map(({ start }) => start()))
  return {
    ...{ database, nodes, proxy: await proxy, place, networks },
    stop: async () => {
      await Promise.all(nodes.map(({ kill }) => kill()))
      await (await proxy).program.stop('SIGKILL')
      await Promise.all(networks.map((network) => network.close()))
      await database.stop()
    },
  }
}

const toEnvironment = ({ members }: PatroniCluster, front: number): Record<string, string> => ({
  TABBAT_POSTGRES_BIND: `127.0.0.1:${front}`,
  ...Object.fromEntries(
    members.flatMap(({ port, restPort }, index) => [
      [`TABBAT_POSTGRES_${index + 1}`, `127.0.0.1:${port}`],
      [`TABBAT_PATRONI_${index + 1}`, String(restPort)],
    ]),
  ),
})
