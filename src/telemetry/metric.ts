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
