import { setTimeout as wait } from 'node:timers/promises'
import { restartInTurn } from '../cluster/restart-in-turn.ts'
import type { Cluster } from './cluster-setup.ts'

/** Something that happens to a cluster under load. */
export type Scenario = {
  readonly name: string
  /** What happens. Returns the repair, which follows when verifications are answered again. */
  readonly strike: (cluster: Cluster) => Promise<() => Promise<unknown>>
  /** No caller may notice anything. */
  readonly isUnnoticed?: boolean
  /** Verifications are answered again within this time. */
  readonly backWithinMs: number
}

const RESTARTS = 5
const STALL_MS = 8000
/** A node out of three: HAProxy sends requests elsewhere at once. */
const NODE_MS = 3000
/** The target for the death of the primary, Patroni's own time included. */
const PRIMARY_MS = 15_000

const repairNothing = async () => {}

/** The dead machine is replaced by one with an empty disk. */
async function killMember({ database }: Cluster, which: 'leader' | 'standby') {
  const member = await database[which]()
  await member.kill('machine')
  return async () => {
    member.replace()
    await database.untilSynchronous()
  }
}

export const SCENARIOS: readonly Scenario[] = [
  {
    name: `rolling restart × ${RESTARTS}`,
    strike: async ({ nodes, proxy }) => {
      for (let round = 0; round < RESTARTS; round++) await restartInTurn(nodes, proxy)
      return repairNothing
    },
    isUnnoticed: true,
    backWithinMs: NODE_MS,
  },
  {
    name: 'kill -9 of a node',
    strike: async ({ nodes }) => {
      await nodes[0]?.kill()
      return async () => nodes[0]?.start()
    },
    backWithinMs: NODE_MS,
  },
  {
    name: 'kill -9 of the primary and its Patroni',
    strike: (cluster) => killMember(cluster, 'leader'),
    backWithinMs: PRIMARY_MS,
  },
  {
    name: 'kill -9 of the primary alone',
    // Patroni makes a standby of it.
    strike: async ({ database }) => {
      await (await database.leader()).kill('postgres')
      return database.untilSynchronous
    },
    backWithinMs: PRIMARY_MS,
  },
  {
    name: 'kill -9 of a node and of the primary',
    strike: async (cluster) => {
      const [replace] = await Promise.all([killMember(cluster, 'leader'), cluster.nodes[1]?.kill()])
      return () => Promise.all([replace(), cluster.nodes[1]?.start()])
    },
    backWithinMs: PRIMARY_MS,
  },
  {
    name: 'switchover',
    strike: async ({ database }) => {
      await database.switchOver()
      return database.untilSynchronous
    },
    backWithinMs: PRIMARY_MS,
  },
  {
    name: 'kill -9 of the standby and its Patroni',
    strike: (cluster) => killMember(cluster, 'standby'),
    backWithinMs: PRIMARY_MS,
  },
  {
    name: `stalled network to the database, ${STALL_MS / 1000} s`,
    strike: async ({ networks }) => {
      for (const network of networks) network.set('stall')
      await wait(STALL_MS)
      for (const network of networks) network.set('pass')
      return repairNothing
    },
    backWithinMs: STALL_MS + PRIMARY_MS,
  },
]
