import { setTimeout as wait } from 'node:timers/promises'
import { waitUntil } from '../cluster/programs.ts'
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

/** The lock of the primary must expire first (ttl, 10 s), and the nodes must find out that it no longer commits. */
const HUNG_MS = 20_000
const PAUSE_MS = 18_000

const repairNothing = async () => {}

/** The dead machine comes back as it was (`start`), or is replaced by one with an empty disk. */
async function killMember({ database }: Cluster, which: 'leader' | 'standby', then: 'start' | 'replace') {
  const member = await database[which]()
  await member.kill('machine')
  return async () => {
    member[then]()
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
    strike: (cluster) => killMember(cluster, 'leader', 'start'),
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
      const [replace] = await Promise.all([
        killMember(cluster, 'leader', 'replace'),
        cluster.nodes[1]?.kill(),
      ])
      return () => Promise.all([replace(), cluster.nodes[1]?.start()])
    },
    backWithinMs: PRIMARY_MS,
  },
  {
    name: 'Patroni of the primary hangs',
    // Its PostgreSQL goes on, accepts connections, and waits for a standby that has been promoted.
    strike: async ({ database }) => {
      const before = await database.leader()
      const resume = await before.pause('patroni')
      await waitUntil('another primary', async () => (await database.leader()) !== before)
      return async () => {
        resume()
        await database.untilSynchronous()
      }
    },
    backWithinMs: HUNG_MS,
  },
  {
    name: `pause of the primary's machine, ${PAUSE_MS / 1000} s`,
    // Longer than ttl: when it wakes, another is the primary.
    strike: async ({ database }) => {
      const resume = await (await database.leader()).pause('machine')
      await wait(PAUSE_MS)
      resume()
      return database.untilSynchronous
    },
    backWithinMs: HUNG_MS,
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
    strike: (cluster) => killMember(cluster, 'standby', 'start'),
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
