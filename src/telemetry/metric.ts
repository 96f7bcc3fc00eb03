/** A metric in the text format of Prometheus. */
export type Metric = {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly samples: readonly Sample[]
}

export type Sample = {
  /** Of a histogram: `_bucket`, `_sum` or `_count`. */
  readonly suffix?: string
  /** As they are printed, without braces. */
  readonly labels: string
  readonly value: number
}

type Labels = Readonly<Record<string, string>>

const escapeValue = (text: string) =>
  text.replaceAll(/[\\"\n]/g, (found) => (found === '\n' ? '\\n' : `\\${found}`))

export const toLabelText = (labels: Labels): string =>
  Object.entries(labels)
    .map(([name, value]) => `${name}="${escapeValue(value)}"`)
    .join(',')

export const toSample = (labels: Labels, value: number): Sample => ({ labels: toLabelText(labels), value })

export const toGauge = (name: string, help: string, samples: number | readonly Sample[]): Metric => ({
  name,
  help,
  type: 'gauge',
  samples: typeof samples === 'number' ? [{ labels: '', value: samples }] : samples,
})

export const toCounter = (name: string, help: string, samples: number | readonly Sample[]): Metric => ({
  ...toGauge(name, help, samples),
  type: 'counter',
})

/** The samples of a histogram. `counts` has one count for each bound; `count` includes what is above the last. */
export function toHistogramSamples(
  labels: string,
  {
    bounds,
    counts,
    sum,
    count,
  }: { bounds: readonly number[]; counts: readonly number[]; sum: number; count: number },
): Sample[] {
  let below = 0
  const buckets = bounds.map((bound, index) => {
    below += counts[index] ?? 0
    return { suffix: '_bucket', labels: `le="${bound}",${labels}`, value: below }
  })
  return [
    ...buckets,
    { suffix: '_bucket', labels: `le="+Inf",${labels}`, value: count },
    { suffix: '_sum', labels, value: sum },
    { suffix: '_count', labels, value: count },
  ]
}

/** Adds a label to every sample. */
export const withLabel = (metrics: readonly Metric[], name: string, value: string): Metric[] => {
  const added = toLabelText({ [name]: value })
  return metrics.map((metric) => ({
    ...metric,
    samples: metric.samples.map((sample) => ({
      ...sample,
      labels: sample.labels === '' ? added : `${sample.labels},${added}`,
    })),
  }))
}

/** Metrics of one name may come from several processes: their samples are printed together. */
export function printMetrics(metrics: readonly Metric[]): string {
  const lines = [...Map.groupBy(metrics, ({ name }) => name)].flatMap(([name, group]) => [
    `# HELP ${name} ${group[0]?.help}`,
    `# TYPE ${name} ${group[0]?.type}`,
    ...group.flatMap(({ samples }) => samples).map((sample) => printSample(name, sample)),
  ])
  return `${lines.join('\n')}\n`
}

const printSample = (name: string, { suffix = '', labels, value }: Sample) =>
  `${name}${suffix}${labels === '' ? '' : `{${labels}}`} ${value}`

/** What a server counts and shows. */
export type Metrics = {
  readonly countRequest: (operation: string, mode: string, outcome: string, durationMs: number) => void
  readonly countKey: (keyId: string, outcome: string) => void
  /** Those of this process, and in the first worker those of the node. */
  readonly collect: () => Promise<Metric[]>
  /** In the text format of Prometheus: requests of all workers together, the rest for each process. */
  readonly print: () => Promise<string>
}

/** Counts requests and their durations. Counting one costs a few lookups and additions. */
type RequestCounts = {
  readonly count: (operation: string, mode: string, outcome: string, durationMs: number) => void
  /** The same request once more, under the public id of its key. */
  readonly countKey: (keyId: string, outcome: string) => void
  readonly dump: () => readonly Series[]
}

const BOUNDS_MS = [0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 15_000]

/** What was counted under one set of labels. */
export type Series = { readonly labels: string; calls: number; sumMs: number; readonly buckets: number[] }

const createSeries = (labels: string): Series => ({
  labels,
  calls: 0,
  sumMs: 0,
  buckets: BOUNDS_MS.map(() => 0),
})

/** The operation, mode and outcome of requests that are counted together. */
export type RequestLabels = readonly [operation: string, mode: string, outcome: string]

/**
 * `maxKeys` keys are counted apart, so that the number of series is bounded. 0: none. `awaited` are shown with 0 from the start: a
 * counter that appears with its first events has not grown for Prometheus, so that no alert would see them.
 */
export function createRequestCounts(maxKeys = 0, awaited: readonly RequestLabels[] = []): RequestCounts {
  const all: Series[] = []
  const byKey = new Map<string, Map<string, Series>>()
  // By operation, mode and outcome: three lookups cost less than one joined key.
  const byName = new Map<string, Map<string, Map<string, Series>>>()
  const find = (...[operation, mode, outcome]: RequestLabels): Series => {
    const modes = getOrAdd(byName, operation, () => new Map<string, Map<string, Series>>())
    const outcomes = getOrAdd(modes, mode, () => new Map<string, Series>())
    return getOrAdd(outcomes, outcome, () => {
      const series = createSeries(toLabelText({ operation, mode, outcome }))
      all.push(series)
      return series
    })
  }
  for (const labels of awaited) find(...labels)
  return {
    count: (operation, mode, outcome, durationMs) => {
      const series = find(operation, mode, outcome)
      series.calls += 1
      series.sumMs += durationMs
      let bucket = 0
      while (bucket < BOUNDS_MS.length && durationMs > (BOUNDS_MS[bucket] as number)) bucket += 1
      if (bucket < BOUNDS_MS.length) series.buckets[bucket] = (series.buckets[bucket] as number) + 1
    },
    countKey: (keyId, outcome) => {
      if (maxKeys === 0) return
      const name = byKey.has(keyId) || byKey.size < maxKeys ? keyId : OTHER_KEYS
      const outcomes = getOrAdd(byKey, name, () => new Map<string, Series>())
      const series = getOrAdd(outcomes, outcome, () => {
        const made = { ...createSeries(toLabelText({ [KEY_LABEL]: name, outcome })), buckets: [] }
        all.push(made)
        return made
      })
      series.calls += 1
    },
    dump: () => all,
  }
}

const KEY_LABEL = 'key_id'
const OTHER_KEYS = 'other'
const isOfKey = ({ labels }: Series) => labels.startsWith(`${KEY_LABEL}=`)

/** The series of all processes as metrics, added up by their labels. */
export function toRequestMetrics(series: readonly Series[]): Metric[] {
  const { true: ofKeys = [], false: sums = [] } = Object.groupBy(addUp(series), (each) => `${isOfKey(each)}`)
  return [
    ...(ofKeys.length > 0 ? [toKeyMetric(ofKeys)] : []),
    toCounter(
      'tabbat_requests_total',
      'Requests answered, by operation, mode and outcome.',
      sums.map(({ labels, calls }) => ({ labels, value: calls })),
    ),
    {
      name: 'tabbat_request_duration_seconds',
      help: 'Time from the head of a request to the end of its answer.',
      type: 'histogram',
      // No alert counts durations, and one of these has eighteen lines.
      samples: sums
        .filter(({ calls }) => calls > 0)
        .flatMap(({ labels, calls, sumMs, buckets }) =>
          toHistogramSamples(labels, { bounds: BOUNDS_S, counts: buckets, sum: sumMs / 1000, count: calls }),
        ),
    },
  ]
}

const toKeyMetric = (series: readonly Series[]) =>
  toCounter(
    'tabbat_key_requests_total',
    'Requests answered, by the public id of their key and outcome.',
    series.map(({ labels, calls }) => ({ labels, value: calls })),
  )

const BOUNDS_S = BOUNDS_MS.map((bound) => bound / 1000)

function getOrAdd<K, V>(map: Map<K, V>, key: K, create: () => V): V {
  const known = map.get(key)
  if (known !== undefined) return known
  const made = create()
  map.set(key, made)
  return made
}

/** One series for each set of labels. */
export function addUp(list: readonly Series[]): Series[] {
  const sums = new Map<string, Series>()
  for (const { labels, calls, sumMs, buckets } of list) {
    const sum = getOrAdd(sums, labels, () => createSeries(labels))
    sum.calls += calls
    sum.sumMs += sumMs
    for (const [index, count] of buckets.entries()) sum.buckets[index] = (sum.buckets[index] ?? 0) + count
  }
  return [...sums.values()]
}
