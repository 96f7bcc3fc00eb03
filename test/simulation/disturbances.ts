import type { Cluster } from './cluster.ts'
import { disk } from './disk.ts'
import { DEEDS, type Operators } from './operators.ts'
import { POSTGRES_ACTIONS, POSTGRES_DISTURBANCES, POSTGRES_PAUSES } from './postgres/disturbances.ts'
import { postgres } from './postgres/server.ts'
import type { Random } from './random.ts'
import type { Engine } from './template.ts'
import type { Vendors } from './vendors.ts'
import { world } from './world.ts'

/** What goes wrong in a run. Each run draws some of them, so that rare combinations appear. */
const DISTURBANCES = [
  'vendors',
  'kill',
  'kill_at_statement',
  'kill_at_commit',
  'disk_full',
  'locked',
  'clock',
  'nodes_come_and_go',
  'power_cut',
  'standstill',
  ...DEEDS,
  ...POSTGRES_DISTURBANCES,
] as const
export type Disturbance = (typeof DISTURBANCES)[number]

/** A disk and a clock of the machine of the database; and a root key in one data folder alone. */
const SQLITE_DISTURBANCES: readonly Disturbance[] = ['disk_full', 'locked', 'clock', 'power_cut', 'rotate']

const NOT_ON: Readonly<Record<Engine, readonly Disturbance[]>> = {
  sqlite: POSTGRES_DISTURBANCES,
  postgres: SQLITE_DISTURBANCES,
}

type Scene = {
  readonly engine: Engine
  readonly cluster: Cluster
  readonly vendors: Vendors
  readonly operators: Operators
  readonly places: readonly number[]
  /** Cuts the power: all processes are dead afterwards. */
  readonly cutPower: () => void
}

export const drawDisturbances = (random: Random, engine: Engine): Disturbance[] =>
  DISTURBANCES.filter((each) => !NOT_ON[engine].includes(each)).filter((each) =>
    random.chance(each === 'vendors' ? 0.8 : 0.25),
  )

/** Disturbs until `isOver`. */
export async function disturb(kind: Disturbance, scene: Scene, isOver: () => boolean): Promise<void> {
  const { random } = world()
  while (!isOver()) {
    await world().pause(random.between(200, PAUSES[kind]))
    if (!isOver()) await ACTIONS[kind](scene)
  }
}

/** The longest time between two. */
const PAUSES: Readonly<Record<Disturbance, number>> = {
  vendors: 6000,
  kill: 8000,
  kill_at_statement: 6000,
  kill_at_commit: 6000,
  disk_full: 15_000,
  locked: 15_000,
  clock: 10_000,
  nodes_come_and_go: 8000,
  power_cut: 20_000,
  standstill: 20_000,
  revoke: 30_000,
  roll: 10_000,
  erase: 5000,
  rotate: 20_000,
  back_up: 15_000,
  ...POSTGRES_PAUSES,
}

/** Either end of a statement, or of a commit, where the answer of the commit is lost. */
function killAt({ engine, cluster, places }: Scene, only: RegExp, most: number): void {
  const { random } = world()
  const process = cluster.processAt(random.pick(places))
  if (process)
    (engine === 'postgres' ? postgres : disk).killAt(process, {
      left: 1 + random.below(most),
      side: random.pick(['before', 'after']),
      only,
    })
}

const MAX_JUMP_MS = 600_000
/** Longer than the hour after which expired rows are deleted. */
const MAX_STANDSTILL_MS = 4_000_000

const ACTIONS: Readonly<Record<Disturbance, (scene: Scene) => void | Promise<void>>> = {
  vendors: ({ vendors }) => vendors.change(),
  kill: ({ cluster, places }) => cluster.kill(world().random.pick(places)),
  kill_at_statement: (scene) => killAt(scene, /^/, 60),
  kill_at_commit: (scene) => killAt(scene, /^COMMIT/, 6),
  disk_full: () => during('full'),
  locked: () => during('locked'),
  clock: ({ cluster }) => {
    const { random } = world()
    const stepMs = Math.round(random.between(-MAX_JUMP_MS, MAX_JUMP_MS))
    world().note(`the clock is set by ${stepMs} ms`)
    world().clockMs += stepMs
    world().maxClockMs = Math.max(world().maxClockMs, world().clockMs)
    for (const { process } of cluster.servers()) process.clockMs = world().clockMs
  },
  nodes_come_and_go: async ({ cluster, places }) => {
    const place = world().random.pick(places)
    await cluster.end(place)
  },
  power_cut: ({ cutPower }) => cutPower(),
  standstill: () => {
    const { random } = world()
    const ms = random.chance(0.3) ? random.between(60_000, MAX_STANDSTILL_MS) : random.between(300, 20_000)
    world().note(`all machines stand still for ${Math.round(ms)} ms`)
    world().skip(ms)
  },
  revoke: ({ operators }) => operators.act('revoke'),
  roll: ({ operators }) => operators.act('roll'),
  erase: ({ operators }) => operators.act('erase'),
  rotate: ({ operators }) => operators.act('rotate'),
  back_up: ({ operators }) => operators.act('back_up'),
  ...POSTGRES_ACTIONS,
}

async function during(fault: 'full' | 'locked'): Promise<void> {
  const { random } = world()
  world().note(`the disk is ${fault}`)
  disk.fault = fault
  // Seldom longer than the store may take: a locked database is tried again every two milliseconds.
  await world().pause(random.between(50, random.chance(0.2) ? 7000 : 1500))
  disk.fault = undefined
  world().note('the disk works again')
}
