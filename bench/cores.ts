import { execFileSync } from 'node:child_process'
import { availableParallelism } from 'node:os'

/** The server on one core, the load generator on another: otherwise they take time from each other. */
type Cores = {
  /** How many there are, before this process binds itself to one. */
  readonly count: number
  /** Undefined where processes cannot be bound; then nothing is. */
  readonly server: string | undefined
  readonly generator: string | undefined
  /** For work that is not measured, and for several workers. */
  readonly all: string | undefined
  readonly workers: string | undefined
  readonly sentence: string
}

export const cores: Cores = findCores()

function findCores(): Cores {
  const count = availableParallelism()
  const allowed = readAllowed()
  const [server, ...others] = allowed
  const generator = others.at(-1)
  if (server === undefined || generator === undefined) {
    const why = count < 2 ? 'there is only one core' : 'there is no taskset'
    const sentence = `nothing is bound to a core, because ${why}: the figures are rough`
    return { count, server: undefined, generator: undefined, all: undefined, workers: undefined, sentence }
  }
  const all = allowed.join(',')
  // With two cores, two workers can only run at the same time if one shares the generator's core.
  const workers = allowed.length > 2 ? allowed.filter((core) => core !== generator).join(',') : all
  const sentence = `server on core ${server}, load generator on core ${generator}, workers on ${workers}`
  return { count, server, generator, all, workers, sentence }
}

/** The cores that this process may use; a container may have been given other ones than the first. */
function readAllowed(): string[] {
  try {
    const text = execFileSync('taskset', ['-cp', String(process.pid)], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    const list = text.split(':').at(-1)?.trim() ?? ''
    return list.split(',').flatMap(toCores)
  } catch {
    return []
  }
}

function toCores(range: string): string[] {
  const [from = 0, to = from] = range.split('-').map(Number)
  return Array.from({ length: to - from + 1 }, (_each, index) => String(from + index))
}

/** The command that runs another on these cores. */
export function bind(core: string | undefined, command: readonly string[]): [string, string[]] {
  const [program = '', ...args] = core === undefined ? command : ['taskset', '-c', core, ...command]
  return [program, args]
}

/** Moves processes that run already, with all their threads. */
export function move(core: string | undefined, pids: readonly number[]): void {
  if (core === undefined) return
  for (const pid of pids) execFileSync('taskset', ['-acp', core, String(pid)], { stdio: 'ignore' })
}
