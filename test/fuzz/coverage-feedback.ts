import { type Profiler, Session } from 'node:inspector'

/** Which blocks of the product the code of this thread has run. Start it before the product is loaded. */
export type CoverageFeedback = {
  /** The blocks that ran since the last call. */
  readonly take: () => Set<string>
  /** How many of these were never added. */
  readonly countNew: (blocks: ReadonlySet<string>) => number
  /** Adds them, and returns how many are new. */
  readonly add: (blocks: ReadonlySet<string>) => number
  readonly count: () => number
}

export function startCoverageFeedback(): CoverageFeedback {
  const session = new Session()
  session.connect()
  // A session of the own thread answers at once.
  const post = <T>(method: string, params: object = {}): T => {
    let result: unknown
    session.post(method, params, (error, answer) => {
      if (error) throw error
      result = answer
    })
    return result as T
  }
  post('Profiler.enable')
  post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })
  const seen = new Set<string>()
  return {
    take: () => {
      const { result } = post<Profiler.TakePreciseCoverageReturnType>('Profiler.takePreciseCoverage')
      const scripts = result.filter(({ url }) => url.includes('/src/'))
      return new Set(scripts.flatMap(listBlocks))
    },
    countNew: (blocks) => blocks.difference(seen).size,
    add: (blocks) => {
      const before = seen.size
      for (const block of blocks) seen.add(block)
      return seen.size - before
    },
    count: () => seen.size,
  }
}

const listBlocks = ({ scriptId, functions }: Profiler.ScriptCoverage): string[] =>
  functions.flatMap(({ ranges }) =>
    ranges.flatMap(({ startOffset, endOffset, count }) =>
      count > 0 ? [`${scriptId}:${startOffset}:${endOffset}`] : [],
    ),
  )
