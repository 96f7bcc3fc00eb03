import type { Cluster } from '../cluster.ts'
import { world } from '../world.ts'
import { postgres } from './server.ts'

/** What goes wrong only where the database is a server of its own. */
export const POSTGRES_DISTURBANCES = [
  'clocks_differ',
  'commits_fail',
  'answers_lost',
  'database_away',
  'database_silent',
] as const
type PostgresDisturbance = (typeof POSTGRES_DISTURBANCES)[number]

/** The longest time between two. */
export const POSTGRES_PAUSES: Readonly<Record<PostgresDisturbance, number>> = {
  clocks_differ: 10_000,
  commits_fail: 12_000,
  answers_lost: 12_000,
  database_away: 20_000,
  database_silent: 20_000,
}

const MAX_DIFFERENCE_MS = 300_000
const MAX_AWAY_MS = 9000
const MAX_COMMITS_MS = 6000

type Action = (scene: { readonly cluster: Cluster }) => void | Promise<void>

export const POSTGRES_ACTIONS: Readonly<Record<PostgresDisturbance, Action>> = {
  clocks_differ: ({ cluster }) => {
    for (const { process } of cluster.servers()) {
      process.clockMs = Math.round(world().random.between(-MAX_DIFFERENCE_MS, MAX_DIFFERENCE_MS))
      world().maxClockMs = Math.max(world().maxClockMs, process.clockMs)
      world().note(`the clock of ${process.name} is ahead by ${process.clockMs} ms`)
    }
  },
  commits_fail: () => duringCommits('fails'),
  answers_lost: () => duringCommits('answer_lost'),
  database_away: async () => {
    world().note('PostgreSQL is away')
    postgres.isAway = true
    postgres.breakAll()
    await world().pause(world().random.between(50, MAX_AWAY_MS))
    postgres.isAway = false
    world().note('PostgreSQL is back')
  },
  database_silent: async () => {
    const ms = world().random.between(50, MAX_AWAY_MS)
    world().note(`PostgreSQL is silent for ${Math.round(ms)} ms`)
    postgres.silence(ms)
    await world().pause(ms)
    if (world().random.chance(0.5)) postgres.breakAll()
  },
}

async function duringCommits(fault: 'fails' | 'answer_lost'): Promise<void> {
  postgres.commitFault = fault
  await world().pause(world().random.between(50, MAX_COMMITS_MS))
  postgres.commitFault = undefined
}
