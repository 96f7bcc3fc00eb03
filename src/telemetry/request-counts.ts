/** How many requests were answered and how long they took, kept so that counting one costs next to nothing. */
export type RequestCounts = {
  readonly count: (operation: string, mode: string, outcome: string, durationMs: number) => void
  readonly dump: () => readonly Series[]
  /** In the format of Prometheus, together with what other workers have counted. */
  readonly print: (others?: readonly Series[]) => string
}

const BOUNDS_MS = [0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 15_000]

/** What was counted under one set of labels. */
export type Series = { readonly labels: string; calls: number; sumMs: number; readonly buckets: number[] }

export function createRequestCounts(): RequestCounts {
  const all: Series[] = []
  // By operation, mode and outcome: looking three words up costs less than putting one together.
  const byName = new Map<string, Map<string, Map<string, Series>>>()
  const find = (operation: string, mode: string, outcome: string): Series => {
    const modes = getOrAdd(byName, operation, () => new Map<string, Map<string, Series>>())
    const outcomes = getOrAdd(modes, mode, () => new Map<string, Series>())
    return getOrAdd(outcomes, outcome, () => {
      const labels = `operation="${operation}",mode="${mode}",outcome="${outcome}"`
      const series = { labels, calls: 0, sumMs: 0, buckets: BOUNDS_MS.map(() => 0) }
      all.push(series)
      return series
    })
  }
  return {
    count: (operation, mode, outcome, durationMs) => {
      const series = find(operation, mode, outcome)
      series.calls += 1
      series.sumMs += durationMs
      let bucket = 0
      while (bucket < BOUNDS_MS.length && durationMs > (BOUNDS_MS[bucket] as number)) bucket += 1
      if (bucket < BOUNDS_MS.length) series.buckets[bucket] = (series.buckets[bucket] as number) + 1
    },
    dump: () => all,
    print: (others = []) => {
      const sums = addUp([...all, ...others])
      return [
        '# HELP tabbat_requests_total Requests answered, by operation, mode and outcome.',
        '# TYPE tabbat_requests_total counter',
        ...sums.map(({ labels, calls }) => `tabbat_requests_total{${labels}} ${calls}`),
        '# HELP tabbat_request_duration_seconds Time from the head of a request to the end of its answer.',
        '# TYPE tabbat_request_duration_seconds histogram',
        ...sums.flatMap(printHistogram),
        '',
      ].join('\n')
    },
  }
}

function printHistogram({ labels, calls, sumMs, buckets }: Series): string[] {
  const name = 'tabbat_request_duration_seconds'
  let below = 0
  const lines = BOUNDS_MS.map((bound, index) => {
    below += buckets[index] ?? 0
    return `${name}_bucket{le="${bound / 1000}",${labels}} ${below}`
  })
  return [
    ...lines,
    `${name}_bucket{le="+Inf",${labels}} ${calls}`,
    `${name}_sum{${labels}} ${sumMs / 1000}`,
    `${name}_count{${labels}} ${calls}`,
  ]
}

function getOrAdd<K, V>(map: Map<K, V>, key: K, create: () => V): V {
  const known = map.get(key)
  if (known !== undefined) return known
  const made = create()
  map.set(key, made)
  return made
}

/** One for each set of labels. */
function addUp(list: readonly Series[]): Series[] {
  const sums = new Map<string, Series>()
  for (const { labels, calls, sumMs, buckets } of list) {
    const sum = getOrAdd(sums, labels, () => ({
      labels,
      calls: 0,
      sumMs: 0,
      buckets: BOUNDS_MS.map(() => 0),
    }))
    sum.calls += calls
    sum.sumMs += sumMs
    for (const [index, count] of buckets.entries()) sum.buckets[index] = (sum.buckets[index] ?? 0) + count
  }
  return [...sums.values()]
}
