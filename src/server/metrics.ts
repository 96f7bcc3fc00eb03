import cluster from 'node:cluster'
import { type AuditState, toAuditMetrics } from '../audit/open-audit.ts'
import type { TlsCertificate } from '../http/tls-listener.ts'
import type { RequestLog } from '../requests/request-log.ts'
import type { SourceChain } from '../sources/source-chain.ts'
import { createSpendMetric, toSourceMetrics } from '../sources/source-metrics.ts'
import {
  type Metric,
  type Metrics,
  printMetrics,
  toCounter,
  toGauge,
  toSample,
  withLabel,
} from '../telemetry/metric.ts'
import { createProcessMetrics } from '../telemetry/process-metrics.ts'
import { createRequestCounts, toRequestMetrics } from '../telemetry/request-counts.ts'
import { joinWorkers, type ProcessFigures } from '../telemetry/worker-metrics.ts'
import type { QueueSignals } from '../verification/queue/open-queue.ts'
import { toQueueEndMetrics } from '../verification/queue/queue-metrics.ts'
import { VERSION } from '../version.ts'
import { toWebhookMetrics, type WebhookCounts } from '../webhooks/webhook-metrics.ts'

export type MetricsOptions = {
  readonly sourceChain: Pick<SourceChain, 'guards' | 'listSpend' | 'prices'>
  readonly audit: AuditState
  readonly webhooks: WebhookCounts
  readonly queue: { readonly signals: Pick<QueueSignals, 'ended'> }
  readonly workerNumber: number
  readonly certificate: Pick<TlsCertificate, 'current'> | undefined
  /** Undefined: the request log is off. */
  readonly requests: Pick<RequestLog, 'countDropped'> | undefined
  /** How many keys are counted apart. */
  readonly mostKeys: number
  /** Metrics of the node, not of a process. */
  readonly readers: readonly (() => Promise<Metric[]>)[]
}

/** Labels come from closed lists (operations, modes, error codes) or are counted (keys), so the number of series is bounded. */
export function createMetrics(options: MetricsOptions): Metrics {
  const { sourceChain, audit, webhooks, queue, workerNumber, certificate, readers } = options
  const requests = createRequestCounts(options.mostKeys)
  const collectProcess = createProcessMetrics()
  const readSpend = createSpendMetric(sourceChain)
  const collect = async (): Promise<ProcessFigures> => {
    const metrics = [
      ...(await collectProcess()),
      ...toSourceMetrics(sourceChain.guards),
      ...toAuditMetrics(audit),
      ...toWebhookMetrics(webhooks),
      ...toRequestLogMetrics(options.requests),
      ...toQueueEndMetrics(queue.signals),
    ]
    const labelled = cluster.isWorker ? withLabel(metrics, 'worker', String(workerNumber)) : metrics
    return { requests: requests.dump(), metrics: labelled }
  }
  const collectOthers = joinWorkers(collect)
  const collectNode = async (): Promise<Metric[]> => {
    const [spend, ...read] = await Promise.all([readSpend(), ...readers.map((reader) => reader())])
    return [
      toGauge('tabbat_build_info', 'The version of this program.', [toSample({ version: VERSION }, 1)]),
      ...spend,
      ...read.flat(),
      ...(certificate ? [toCertificateMetric(certificate)] : []),
    ]
  }
  return {
    countRequest: requests.count,
    countKey: requests.countKey,
    collect: async () => {
      const [own, node] = await Promise.all([collect(), workerNumber === 1 ? collectNode() : []])
      return [...own.metrics, ...node, ...toRequestMetrics(own.requests)]
    },
    print: async () => {
      const [own, others, node] = await Promise.all([
        collect(),
        collectOthers(requests.dump()),
        collectNode(),
      ])
      const requestMetrics = toRequestMetrics([...own.requests, ...others.requests])
      return printMetrics([...own.metrics, ...others.metrics, ...node, ...requestMetrics])
    },
  }
}

const toRequestLogMetrics = (requests: MetricsOptions['requests']): Metric[] =>
  requests
    ? [
        toCounter(
          'tabbat_request_log_dropped_total',
          'Requests that are missing from the request log, because the store was unavailable for too long.',
          requests.countDropped(),
        ),
      ]
    : []

const toCertificateMetric = ({ current }: Pick<TlsCertificate, 'current'>): Metric =>
  toGauge(
    'tabbat_tls_certificate_expiry_timestamp_seconds',
    'When the certificate in use, or one of its chain, ends, in Unix time.',
    current().notAfter / 1000,
  )
