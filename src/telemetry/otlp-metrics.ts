import { type HrTime, ValueType } from '@opentelemetry/api'
import { hrTime } from '@opentelemetry/core'
import type { Resource } from '@opentelemetry/resources'
import {
  AggregationTemporality,
  type DataPoint,
  DataPointType,
  type Histogram,
  type MetricData,
  type MetricProducer,
} from '@opentelemetry/sdk-metrics'
import type { Metric, Sample } from './metric.ts'

/** The metrics that Prometheus can scrape, under the same names. Requests are not counted twice: this only converts. */
export function createMetricProducer(
  resource: Resource,
  version: string,
  collect: () => Promise<readonly Metric[]>,
): MetricProducer {
  const startTime = hrTime()
  return {
    collect: async () => {
      const found = await collect()
      const endTime = hrTime()
      const metrics = [...Map.groupBy(found, ({ name }) => name).values()].flatMap((group) =>
        toMetricData(group, startTime, endTime),
      )
      return {
        resourceMetrics: { resource, scopeMetrics: [{ scope: { name: 'tabbat', version }, metrics }] },
        errors: [],
      }
    },
  }
}

function toMetricData(group: readonly Metric[], startTime: HrTime, endTime: HrTime): MetricData[] {
  const [metric] = group
  const samples = group.flatMap((part) => part.samples)
  if (!metric || samples.length === 0) return []
  const { name, help: description, type } = metric
  const shared = {
    descriptor: { name, description, unit: '', valueType: ValueType.DOUBLE },
    aggregationTemporality: AggregationTemporality.CUMULATIVE,
  }
  const toPoint = ({ labels, value }: Sample): DataPoint<number> => ({
    startTime,
    endTime,
    attributes: readLabels(labels),
    value,
  })
  if (type === 'histogram') {
    const dataPoints = toHistograms(samples).map((point) => ({ ...point, startTime, endTime }))
    return [{ ...shared, dataPointType: DataPointType.HISTOGRAM, dataPoints }]
  }
  const dataPoints = samples.map(toPoint)
  if (type === 'gauge') return [{ ...shared, dataPointType: DataPointType.GAUGE, dataPoints }]
  return [{ ...shared, dataPointType: DataPointType.SUM, dataPoints, isMonotonic: true }]
}

/** Prometheus counts what is below a bound; OpenTelemetry counts what is between two. */
function toHistograms(
  samples: readonly Sample[],
): { attributes: Record<string, string>; value: Histogram }[] {
  const parts = samples.map((sample) => {
    const { le, ...attributes } = readLabels(sample.labels)
    return { ...sample, le, attributes }
  })
  const bySeries = Map.groupBy(parts, ({ attributes }) => JSON.stringify(attributes))
  return [...bySeries.values()].map((series) => {
    const below = series.filter(({ suffix }) => suffix === '_bucket').map(({ value }) => value)
    const boundaries = series.flatMap(({ le }) => (le === undefined || le === '+Inf' ? [] : [Number(le)]))
    const read = (wanted: string) => series.find(({ suffix }) => suffix === wanted)?.value ?? 0
    const counts = below.map((count, index) => count - (below[index - 1] ?? 0))
    return {
      attributes: series[0]?.attributes ?? {},
      value: { buckets: { boundaries, counts }, sum: read('_sum'), count: read('_count') },
    }
  })
}

/** The labels as they are printed for Prometheus: `name="value",…`. */
const readLabels = (text: string): Record<string, string> =>
  Object.fromEntries(
    [...text.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, name = '', value = '']) => [
      name,
      value.replaceAll(/\\(.)/g, (_found, escaped: string) => (escaped === 'n' ? '\n' : escaped)),
    ]),
  )
